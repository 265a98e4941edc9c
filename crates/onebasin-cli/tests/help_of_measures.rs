//! Compares the help of the commands that measure with what it was when last reviewed.

mod binary;

use binary::onebasin;
use insta::assert_snapshot;

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
                  The folder that is written: measures.json and curves.csv [default: none]

              --channel <NAME>
                  What makes two units alike; several give a curve each [default: w2, if there is no
                  --alignment]

                  [possible values: mean, w2, kl, jeffreys]

              --solver <NAME>
                  How permutations are sought; `best` tries all

                  [default: best]
                  [possible values: descent, forward, frank-wolfe, best]

              --alignment <FILE>
                  Permutations of B that `onebasin align` wrote, or its alignment.json

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

              --seed <N>
                  Of draws, replicates and the search for permutations

                  [default: 0]

              --split <NAMES>
                  Which images to measure on

                  [default: train,test]
                  [possible values: train, test]

              --images <N>
                  At most so many training images, from the first on

                  [default: 10000]

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

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin barrier runs/seed1 runs/seed2 --path geodesic,natural-rescaled -o runs/barrier
    ");
}

#[test]
fn help_of_plane() {
    assert_snapshot!(onebasin("plane --help"), @r"
        exit code: 0
        ----- stdout -----
        Measure a plane: loss, error and log posterior around two posteriors and the second one aligned

        The plane goes through the means of A, of B, and of B with its units permuted to be where their like
        is in A. On a grid, and at these three places themselves, looks at the network at that place and,
        with --samples, at the predictive distribution of the Gaussian there: its standard deviations are
        those of the three, mixed by their barycentric coordinates, of which those below zero, outside of
        the triangle, count as zero.

        Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing
        written).

        Usage: onebasin plane [OPTIONS] <A> <B>

        Arguments:
          <A>
                  The posterior that stays: a file, or the folder of a run

          <B>
                  The posterior whose units are permuted

        Options:
          -o, --output <DIR>
                  The folder that is written: measures.json and plane.csv [default: none]

              --channel <NAME>
                  What makes two units alike

                  [default: w2]
                  [possible values: mean, w2, kl, jeffreys]

              --solver <NAME>
                  How permutations are sought; `best` tries all

                  [default: best]
                  [possible values: descent, forward, frank-wolfe, best]

              --alignment <FILE>
                  Permutations of B that `onebasin align` wrote, or its alignment.json

              --points <N>
                  Points of the grid along each axis

                  [default: 21]

              --margin <PART>
                  How far the grid goes beyond the three, as a part of the longer side of the rectangle
                  around them

                  [default: 0.25]

              --samples <N>
                  Draws for the predictive distribution at each point; 0 for none

                  [default: 0]

              --seed <N>
                  Of draws and the search for permutations

                  [default: 0]

              --split <NAMES>
                  Which images to measure on

                  [default: train,test]
                  [possible values: train, test]

              --images <N>
                  At most so many training images, from the first on; the log posterior is scaled up from
                  these

                  [default: 10000]

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --force
                  Replace what an earlier measurement left in the folder

              --json
                  Print measures.json instead of a table and a map

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin plane runs/seed1 runs/seed2 -o runs/plane
    ");
}

#[test]
fn help_of_transpositions() {
    assert_snapshot!(onebasin("transpositions --help"), @r"
        exit code: 0
        ----- stdout -----
        Follow the number of transpositions: what it takes to align networks that had a start in common, or
        nothing

        Trains networks that begin as permuted copies of one, and says whether that permutation is still
        there in the end; trains networks that have nothing in common, and aligns them at several times, and
        the points of the line between them with both. The number of transpositions of a permutation is the
        smallest number of swaps that make it.

        Exit codes: 0 measured, 2 wrong input, 130 stopped by SIGINT, 143 stopped by SIGTERM (nothing
        written).

        Usage: onebasin transpositions [OPTIONS] <CONFIG.toml>

        Arguments:
          <CONFIG.toml>
                  The configuration, such as experiments/transpositions.toml

        Options:
              --set <A.B=C>
                  Change one setting of the configuration; may be given several times

          -o, --output <DIR>
                  The folder that is written: measures.json, starts.csv, line.csv and dynamics.csv [default:
                  none]

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --force
                  Replace what an earlier measurement left in the folder

              --json
                  Print measures.json instead of tables

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin transpositions experiments/transpositions.toml --set runs=5 -o runs/transpositions
    ");
}
