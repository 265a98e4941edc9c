//! Compares the help of commands with what it was when last reviewed.

mod binary;

use binary::onebasin;
use insta::assert_snapshot;

#[test]
fn help_lists_the_commands() {
    assert_snapshot!(onebasin("--help"), @r"
        exit code: 0
        ----- stdout -----
        Brings neural-network posteriors into one basin

        Usage: onebasin <COMMAND>

        Commands:
          align        Align posteriors: permute units so that those that do the same stand in the same
                       place
          arch         Describe a network: its tensors, its hidden layers, its size and its cost
          barrier      Measure barriers: how much loss and error rise on the way from one posterior to
                       another
          compact      Put one Gaussian in the place of many samples, and measure what that costs
          completions  Print a script with which a shell completes what is typed
          data         List, download and verify data sets
          plane        Measure a plane: loss, error and log posterior around two posteriors and the second
                       one aligned
          report       Make one page of what experiments measured: figures, tables and where they come from
          run          Run a whole experiment: train, align, measure, and report
          train        Infer a posterior: MAP, variational inference, ensembles or Hamiltonian Monte Carlo
          help         Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Example:
          onebasin run experiments/digits.toml
    ");
}

#[test]
fn help_of_arch() {
    assert_snapshot!(onebasin("arch --help"), @r"
        exit code: 0
        ----- stdout -----
        Describe a network: its tensors, its hidden layers, its size and its cost

        Usage: onebasin arch <COMMAND>

        Commands:
          mlp     Dense layers
          cnn     Convolutions and pools, then dense layers
          resnet  A residual network for small images
          help    Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        Example:
          onebasin arch mlp --hidden 512,512,512
    ");
}

#[test]
fn help_of_each_preset() {
    assert_snapshot!(onebasin("arch mlp --help"), @r"
        exit code: 0
        ----- stdout -----
        Dense layers

        Usage: onebasin arch mlp [OPTIONS]

        Options:
              --input <SHAPE>      Height, width and channels of one image [default: 28x28x1]
              --classes <NUMBER>   Number of classes [default: 10]
              --hidden <UNITS>     Units per hidden layer, or none [default: 512,512,512]
              --activation <NAME>  Non-linearity [default: relu] [possible values: relu, tanh]
              --markdown           Print Markdown tables
              --json               Print one JSON object
          -h, --help               Print help

        Example:
          onebasin arch mlp --input 8x8x1 --hidden 32,16
    ");
    assert_snapshot!(onebasin("arch cnn --help"), @r"
        exit code: 0
        ----- stdout -----
        Convolutions and pools, then dense layers

        Usage: onebasin arch cnn [OPTIONS]

        Options:
              --input <SHAPE>      Height, width and channels of one image [default: 28x28x1]
              --classes <NUMBER>   Number of classes [default: 10]
              --stack <STAGES>     3x3 convolutions (32, or 32/2 with stride 2) and 2x2 pools (max or
                                   average) [default: 16,max,32,max]
              --hidden <UNITS>     Units per hidden dense layer behind the stack, or none [default: none]
              --activation <NAME>  Non-linearity [default: relu] [possible values: relu, tanh]
              --markdown           Print Markdown tables
              --json               Print one JSON object
          -h, --help               Print help

        Example:
          onebasin arch cnn --input 32x32x3 --stack 32,max,64/2
    ");
    assert_snapshot!(onebasin("arch resnet --help"), @r"
        exit code: 0
        ----- stdout -----
        A residual network for small images

        Usage: onebasin arch resnet [OPTIONS]

        Options:
              --input <SHAPE>         Height, width and channels of one image [default: 32x32x3]
              --classes <NUMBER>      Number of classes [default: 10]
              --depth <LAYERS>        Number of layers, 6n + 2 [default: 20]
              --width <FACTOR>        Multiplies all channel numbers [default: 1]
              --normalisation <NAME>  After each convolution [default: frn] [possible values: none, layer,
                                      frn]
              --shortcut <NAME>       Of blocks that change shape [default: projection] [possible values:
                                      projection, padded]
              --markdown              Print Markdown tables
              --json                  Print one JSON object
          -h, --help                  Print help

        Example:
          onebasin arch resnet --depth 32 --normalisation layer
    ");
}

#[test]
fn help_of_align() {
    assert_snapshot!(onebasin("align --help"), @r"
        exit code: 0
        ----- stdout -----
        Align posteriors: permute units so that those that do the same stand in the same place

        Reads posteriors that `onebasin train` wrote, of networks of one architecture. Writes the permuted
        posteriors, which predict what they predicted before, their permutations, and alignment.json with
        all that is known of them.

        Exit codes: 0 aligned, 1 a network's function has changed by more than rounding, 2 wrong input.

        Usage: onebasin align [OPTIONS] --output <DIR> <POSTERIOR>...

        Arguments:
          <POSTERIOR>...
                  Posteriors: files, or folders of runs

        Options:
          -o, --output <DIR>
                  The folder that is written

              --to <NAME>
                  What all are aligned with: the first, the mean of all others in turn, a common order
                  sought for all at once, or, for samples one by one, the Gaussian that fits them

                  [default: first]
                  [possible values: first, mean, universe, relabel]

              --channel <NAME>
                  What makes two units alike: mean weights, these and their standard deviations,
                  divergences, or activations on the training images of the first posterior

                  [default: w2]
                  [possible values: mean, w2, kl, jeffreys, activation]

              --images <N>
                  At most so many images for `activation`, from the first on [default: 5000]

              --draws <N>
                  At most so many points of each posterior for `activation` [default: 10]

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --solver <NAME>
                  How permutations are sought; `best` tries all

                  [default: best]
                  [possible values: descent, forward, frank-wolfe, best]

              --start <NAME>
                  Where `descent` begins

                  [default: identity]
                  [possible values: identity, random]

              --seed <N>
                  Decides the order of `descent` and its random start

                  [default: 0]

              --balance
                  Balance the scales of relu units before, in the first posterior too

              --leave-out-prior <NATS>
                  Units nearer to the prior than this have no vote; 0.02 is a good value

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --force
                  Remove what an earlier alignment left in the folder

              --json
                  Print alignment.json instead of tables

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin align runs/seed1 runs/seed2 -o runs/aligned
    ");
}

#[test]
fn help_of_train() {
    assert_snapshot!(onebasin("train --help"), @r"
        exit code: 0
        ----- stdout -----
        Infer a posterior: MAP, variational inference, ensembles or Hamiltonian Monte Carlo

        Writes posterior.safetensors, result.json, metrics.jsonl, TensorBoard events and the whole
        configuration into one folder. A run that was stopped or killed is continued by the same command,
        with the same result.

        Exit codes: 0 finished, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (state saved).

        Usage: onebasin train [OPTIONS] <CONFIG.toml>

        Arguments:
          <CONFIG.toml>
                  The configuration; see experiments/train/ for examples

        Options:
              --set <A.B=C>
                  Change one setting of the configuration; may be given several times

          -o, --output <DIR>
                  The folder of the run [default: runs/ and the name of the configuration]

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --save-every <SECONDS>
                  Seconds between two checkpoints

                  [default: 30]

              --force
                  Begin anew: remove what an earlier run left in the folder, whatever its settings

              --json
                  Print result.json instead of a table

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin train experiments/train/digits-vi.toml --set infer.optimise.epochs=20 -o runs/digits
    ");
}

#[test]
fn help_of_barrier() {
    assert_snapshot!(onebasin("barrier --help"), @r"
        exit code: 0
        ----- stdout -----
        Measure barriers: how much loss and error rise on the way from one posterior to another

        Goes along the Wasserstein geodesic, whose means and standard deviations go straight from A to B,
        for B as it is and with its units permuted to be where their like is in A; and along other ways, if
        they are named. The loss is that of the predictive distribution; what it rises by is measured from
        the line between its ends, and comes with a standard error. The mixture of A and B is the reference
        that nothing is lost on.

        Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing
        written).

        Usage: onebasin barrier [OPTIONS] <A> <B>

        Arguments:
          <A>
                  The posterior that stays: a file, or the folder of a run

          <B>
                  The posterior whose units are permuted

        Options:
          -o, --output <DIR>
                  The folder that is written: measures.json and all points as comma-separated values
                  [default: none]

              --solver <NAME>
                  How permutations are sought; `best` tries all

                  [default: best]
                  [possible values: descent, forward, frank-wolfe, best]

              --alignment <FILE>
                  Permutations of B that `onebasin align` wrote, or its alignment.json

              --seed <N>
                  Of draws and the search for permutations

                  [default: 0]

              --split <NAMES>
                  Which images to measure on

                  [default: train,test]
                  [possible values: train, test]

              --images <N>
                  At most so many training images, from the first on

                  [default: 10000]

              --test-images <N>
                  At most so many test images, from the first on [default: all]

              --dataset <NAME>
                  Another data set than the one that A was trained on

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --force
                  Replace what an earlier measurement left in the folder

              --json
                  Print measures.json instead of a table

              --channel <NAME>
                  What makes two units alike; several give a curve each [default: w2, if there is no
                  --alignment]

                  [possible values: mean, w2, kl, jeffreys]

              --no-alignment
                  Measure the posteriors only as they are

              --path <NAME>
                  Ways from A to the aligned B; several give a curve each. `natural` is straight in
                  precisions, the others restore the strength that units lose on the way: their signal
                  (`rescaled` from weights, from moments or on data), or on data their standard deviation
                  (`scale-only`) and mean (`repair`)

                  [default: geodesic]
                  [possible values: geodesic, natural, rescaled, rescaled-moments, rescaled-data,
                  natural-rescaled, scale-only, repair]

              --calibrate
                  Measure each curve also with the softmax temperature that is best on training images,
                  point by point

              --points <N>
                  Points of each path, an odd number

                  [default: 25]

              --samples <N>
                  Draws from the posterior at each point

                  [default: 128]

              --replicates <N>
                  Bootstrap replicates behind the standard errors

                  [default: 200]

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin barrier runs/seed1 runs/seed2 --path geodesic,natural-rescaled -o runs/barrier
    ");
}

#[test]
fn help_of_run() {
    assert_snapshot!(onebasin("run --help"), @r"
        exit code: 0
        ----- stdout -----
        Run a whole experiment: train, align, measure, and report

        What is there already, of the same inputs, is not done again; a run that was stopped or killed is
        continued by the same command, with the same results. Posteriors and cells of a sweep are worked at
        side by side, one on each core. Data that are missing are downloaded.

        Exit codes: 0 finished, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (all that is
        finished stays).

        Usage: onebasin run [OPTIONS] [EXPERIMENT.toml]

        Arguments:
          [EXPERIMENT.toml]
                  The experiment; see experiments/ for examples [default: that of the built-in digits]

        Options:
              --set <A.B=C>
                  Change one setting of the experiment; may be given several times

          -o, --output <DIR>
                  The folder of the experiment [default: runs/ and the name of the file]

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --json
                  Print measures.json instead of a curve and a table

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin run experiments/digits.toml --set barrier.samples=32 -o runs/quick
    ");
}

#[test]
fn help_of_report() {
    assert_snapshot!(onebasin("report --help"), @r"
        exit code: 0
        ----- stdout -----
        Make one page of what experiments measured: figures, tables and where they come from

        Writes index.html, which needs no other file, report.md, and the figures as SVG, PNG and CSV.
        `onebasin run` does this in the end; here several experiments can come onto one page.

        Usage: onebasin report [OPTIONS] <DIR>...

        Arguments:
          <DIR>...
                  Folders of finished experiments

        Options:
          -o, --output <PATH>
                  The folder that is written, or a Markdown file, whose figures go into a folder beside it
                  [default: `report` in DIR]

              --json
                  Print all measures instead of a curve and a table

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin report runs/mnist runs/fashion-mnist -o docs/results.md
    ");
}

#[test]
fn help_of_completions() {
    assert_snapshot!(onebasin("completions --help"), @r"
        exit code: 0
        ----- stdout -----
        Print a script with which a shell completes what is typed

        Usage: onebasin completions <SHELL>

        Arguments:
          <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

        Options:
          -h, --help  Print help

        Example:
          onebasin completions bash > ~/.local/share/bash-completion/completions/onebasin
    ");
}
