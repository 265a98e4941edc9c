"""Posteriors and checkpoints: what is written is read again, by the package and by the command, and what is wrong is refused."""

import hashlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import onebasin as ob
import pytest

FIXTURES = pathlib.Path(__file__).parents[2] / "crates/onebasin-checkpoint/tests/fixtures"
NOT_IN_NUMPY = {"c32", "f8_e4m3", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0"}
AXES = {"fc1.weight": ("hidden", None), "fc1.bias": ("hidden",), "fc2.weight": (None, "hidden")}
SHAPES = {"fc1.weight": (8, 3), "fc1.bias": (8,), "fc2.weight": (2, 8)}


def point(seed, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape).astype(dtype) for name, shape in SHAPES.items()}


def gaussian(seed):
    return ob.Gaussian(point(seed), {name: np.abs(values) for name, values in point(seed + 100).items()})


def command(*words):
    return subprocess.run([sys.executable, "-m", "onebasin", *map(str, words)], capture_output=True, text=True, check=False)


def same(a, b):
    assert list(a) == list(b)
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


def test_every_kind_of_posterior_survives_a_round_trip(tmp_path):
    file = tmp_path / "q.safetensors"
    ob.save(file, point(0))
    same(ob.load(file), point(0))
    q = gaussian(1)
    ob.save(file, q)
    same(ob.load(file).mean, q.mean)
    same(ob.load(file).std, q.std)
    ob.save(file, ob.Samples([point(seed) for seed in range(6)], chains=2))
    found = ob.load(str(file))
    assert len(found) == 6 and found.chains == 2
    same(found[5], point(5))
    ob.save(file, ob.LowRank(q.mean, q.std, [point(7), point(8)]))
    found = ob.load(file)
    assert isinstance(found, ob.LowRank) and len(found.factor) == 2
    same(found.factor[1], point(8))
    assert all(values.dtype == np.float32 for values in found.mean.values())


def test_posteriors_with_their_symmetry_are_aligned_by_the_command(tmp_path):
    a, b = gaussian(0), gaussian(1)
    symmetry = ob.symmetry.from_dict(AXES, like=a.mean)
    symmetry.save(tmp_path / "network.toml")
    ob.save(tmp_path / "a.safetensors", a, symmetry=symmetry)
    ob.save(tmp_path / "b.safetensors", b, symmetry=symmetry)
    network = ("--network", tmp_path / "network.toml", "-o", tmp_path / "aligned")
    done = command("align", tmp_path / "a.safetensors", tmp_path / "b.safetensors", *network)
    assert done.returncode == 0, done.stderr
    found = ob.align(a, b, symmetry)
    same(ob.load(tmp_path / "aligned/b.safetensors").mean, found.aligned.mean)
    orders = ob.permutations.load(tmp_path / "aligned/permutations/b.json")
    same(orders, found.permutations)
    same(ob.permute(b, orders, symmetry).mean, found.aligned.mean)
    # One that is made of another keeps what is known of the network.
    ob.save(tmp_path / "c.safetensors", found.aligned, like=tmp_path / "b.safetensors")
    assert (tmp_path / "c.safetensors").read_bytes() == (tmp_path / "aligned/b.safetensors").read_bytes()


def test_tensors_in_another_order_are_stored_in_that_of_the_network(tmp_path):
    symmetry = ob.symmetry.from_dict(AXES, like=point(0))
    shuffled = dict(reversed(point(0).items()))
    ob.save(tmp_path / "q.safetensors", shuffled, symmetry=symmetry)
    same(ob.load(tmp_path / "q.safetensors"), point(0))


def test_posteriors_that_fit_no_network_are_refused_and_leave_no_file(tmp_path):
    file = tmp_path / "q.safetensors"
    symmetry = ob.symmetry.from_dict(AXES, like=point(0))
    whole = point(0)
    less = {name: values for name, values in whole.items() if name != "fc1.bias"}
    for wrong, fault in [
        (less, "fc1.bias"),
        ({**whole, "extra": np.ones(2)}, "extra"),
        ({**whole, "fc1.bias": np.ones(9)}, "fc1.bias"),
        ([], "no samples"),
        ([whole, less], "not of one network"),
        (3, "not a int"),
        (ob.Samples([whole] * 3, chains=2), "chains"),
        (ob.Gaussian(whole, {name: -np.ones(shape) for name, shape in SHAPES.items()}), "std|standard deviation"),
    ]:
        with pytest.raises(ob.InputError, match=fault):
            ob.save(file, wrong, symmetry=symmetry)
            pytest.fail(f"nothing was said of {fault}")
        assert list(tmp_path.iterdir()) == []


def test_checkpoints_of_numpy_keep_their_types(tmp_path):
    arrays = {
        "a": np.arange(6, dtype=np.int64).reshape(2, 3),
        "b": np.float32(2.5),
        "c": np.arange(4, dtype=">f8"),
        "d": np.array([True, False]),
        "e": np.asfortranarray(np.arange(6, dtype=np.float16).reshape(2, 3)),
        "f": np.zeros((0, 3)),
    }
    np.savez(tmp_path / "x.npz", **arrays)
    found = ob.load(tmp_path / "x.npz")
    same(found, arrays)
    for name, values in arrays.items():
        assert found[name].dtype == np.asarray(values).dtype.newbyteorder("="), name
        assert found[name].shape == np.shape(values)


def test_a_checkpoint_is_written_again_with_other_values(tmp_path):
    before = {"w": np.ones((2, 3), np.float32), "h": np.ones(2, np.float16), "steps": np.array(7)}
    np.savez(tmp_path / "x.npz", **before)
    # Numbers take the type that they have in the file.
    ob.save(tmp_path / "y.npz", {"w": np.full((2, 3), 0.1), "h": np.full(2, 0.1, np.float32)}, like=tmp_path / "x.npz")
    after = np.load(tmp_path / "y.npz")
    np.testing.assert_array_equal(after["w"], np.full((2, 3), np.float32(0.1)))
    np.testing.assert_array_equal(after["h"], np.full(2, np.float16(0.1)))
    assert after["steps"] == 7
    for wrong, fault in [({"none": np.ones(1)}, "no tensor `none`"), ({"w": np.ones(6)}, "shape"), ({"w": np.ones((2, 3), np.int64)}, "i64")]:
        with pytest.raises(ob.InputError, match=fault):
            ob.save(tmp_path / "z.npz", wrong, like=tmp_path / "x.npz")
        assert not (tmp_path / "z.npz").exists()
    with pytest.raises(ob.InputError, match="dict with the names"):
        ob.save(tmp_path / "z.npz", gaussian(0), like=tmp_path / "x.npz")


def test_bfloat16_becomes_float32_and_back(tmp_path):
    # A safetensors file of one tensor: 1, -2 and 0.15625 have few bits.
    bits = np.array([0x3F80, 0xC000, 0x3E20], "<u2").tobytes()
    header = b'{"w":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}'
    header += b" " * (-len(header) % 8)
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bits)
    found = ob.load(tmp_path / "x.safetensors")
    assert found["w"].dtype == np.float32 and found["w"].tolist() == [1.0, -2.0, 0.15625]
    ob.save(tmp_path / "y.safetensors", {"w": 2 * found["w"]}, like=tmp_path / "x.safetensors")
    assert ob.load(tmp_path / "y.safetensors")["w"].tolist() == [2.0, -4.0, 0.3125]
    assert (tmp_path / "y.safetensors").stat().st_size == (tmp_path / "x.safetensors").stat().st_size


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ob.FileError, match="none.pt"):
        ob.load(tmp_path / "none.pt")
    with pytest.raises(ob.InputError, match="posterior.safetensors"):
        ob.load(tmp_path)
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(ob.InputError, match="text.pt"):
        ob.load(tmp_path / "text.pt")


def test_the_command_is_part_of_the_package(tmp_path):
    done = command("--version")
    assert done.returncode == 0 and done.stdout == f"onebasin {ob.__version__}\n"
    done = command("train", tmp_path / "none.toml")
    assert done.returncode == 2 and "none.toml" in done.stderr
    assert command("no-such-command").returncode == 2
    file = tmp_path / "q.safetensors"
    ob.save(file, gaussian(0))
    assert command("show", file).stdout == ob.show(file)


@pytest.mark.parametrize("name", sorted(json.loads((FIXTURES / "expected.json").read_text())))
def test_checkpoints_of_other_libraries_have_the_values_that_these_read(name):
    expected = json.loads((FIXTURES / "expected.json").read_text())[name]
    if any(facts["dtype"] in NOT_IN_NUMPY or "<U" in facts["dtype"] for facts in expected.values()):
        with pytest.raises(ob.InputError, match="not read into an array of numbers"):
            ob.load(FIXTURES / name)
        return
    found = ob.load(FIXTURES / name)
    assert sorted(found) == sorted(expected)
    for tensor, facts in expected.items():
        values = found[tensor]
        assert list(values.shape) == facts["shape"]
        if facts["dtype"] == "bf16":
            # The upper halves.
            values = (values.view(np.uint32) >> 16).astype(np.uint16)
        assert hashlib.sha256(values.tobytes()).hexdigest() == facts["sha256"], tensor
