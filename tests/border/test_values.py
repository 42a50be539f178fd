"""Every value that may cross the border comes back as it was; every other one as words."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from enum import IntEnum
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import example, given

from harness.border.frames import BadFrame
from harness.border.tensors import Blobs
from harness.border.values import DType, Object, Opaque, pack, unpack
from tests.border.values import containers, identical, same_bits, tensors


def crossed(value: Any, *, held: dict[int, Any] | None = None) -> Any:
    """A value as the judge gets it from a worker."""
    outgoing = Blobs()
    numbers = held if held is not None else {}

    def hold(thing: object) -> int:
        numbers[len(numbers) + 1] = thing
        return len(numbers)

    raw = msgspec.msgpack.decode(msgspec.msgpack.encode(pack(value, outgoing, hold)))
    return unpack(raw, Blobs(received=bytearray(b"".join(outgoing.parts))))


def sent(value: Any) -> Any:
    """A value as the worker gets it from a judge, with the whole storage of its tensors."""
    outgoing = Blobs(whole=True)
    raw = msgspec.msgpack.decode(msgspec.msgpack.encode(pack(value, outgoing, lambda _: 0)))
    received = bytearray(b"".join(outgoing.parts))
    return unpack(raw, Blobs(received=received), find=lambda number: number)


@given(containers)
@example(-0.0)
@example(float("nan"))
@example([(), [], {}, frozenset()])
@example(2**63)
@example({(1, "a"): b"\0", None: [True, 1, 1.0]})
def test_a_plain_value_comes_back_as_it_was(value: Any) -> None:
    assert identical(crossed(value), value)


@given(tensors())
@example(torch.tensor(-0.0))
@example(torch.zeros(0, 3))
def test_a_tensor_comes_back_bit_for_bit(tensor: torch.Tensor) -> None:
    back = crossed(tensor)
    assert same_bits(back, tensor)
    assert back.is_contiguous()
    assert not back.requires_grad


@given(tensors())
def test_a_tensor_arrives_with_its_strides_and_what_lies_around_it(tensor: torch.Tensor) -> None:
    arrived = sent(tensor)
    assert same_bits(arrived, tensor)
    assert arrived.stride() == tensor.stride() or tensor.dim() == 0
    assert (
        arrived.untyped_storage().nbytes() == tensor.untyped_storage().nbytes() or not tensor.dim()
    )


def test_tensors_that_share_memory_still_do_on_the_other_side() -> None:
    base = torch.arange(12.0)
    one, other = sent([base[::2], base.reshape(3, 4).t()])
    one[0] = 7
    assert other[0, 0] == 7


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (IntEnum("E", {"A": 3}).A, 3),
        (type("Liar", (int,), {"__eq__": lambda s, o: True, "__hash__": int.__hash__})(4), 4),
        (type("Liar", (str,), {"__str__": lambda s: "other", "__len__": lambda s: 9})("x"), "x"),
        (type("Liar", (list,), {"__iter__": lambda s: iter("abc")})([1]), [1]),
        (type("Liar", (dict,), {"items": lambda s: [(1, 2)]})(a=1), {"a": 1}),
        (type("Liar", (float,), {"__float__": lambda s: 0.0})(0.5), 0.5),
        (namedtuple("N", "a b")(1, 2), (1, 2)),
        (OrderedDict(a=1), {"a": 1}),
        (torch.nn.Parameter(torch.ones(2)), torch.ones(2)),
    ],
)
def test_a_subclass_crosses_as_what_it_extends(value: Any, plain: Any) -> None:
    assert identical(crossed(value), plain)


class SaysItIsANumber:
    __class__ = int  # type: ignore[assignment]


class SaysItIsATensor:
    __class__ = torch.Tensor  # type: ignore[assignment]


@dataclasses.dataclass
class Record:
    number: int = 1


@pytest.mark.parametrize(
    "value", [SaysItIsANumber(), SaysItIsATensor(), Record(), lambda: 1, (i for i in "ab"), Record]
)
def test_any_other_object_stays_where_it_is(value: Any) -> None:
    held: dict[int, Any] = {}
    back = crossed(value, held=held)
    assert isinstance(back, Object)
    assert held[back.id] is value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2**5000, "a whole number of 5,001 bits"),
        ("\ud800", "text that is not valid Unicode"),
        (torch.ones(2, dtype=torch.complex64), "a tensor of complex64, torch.strided, on cpu"),
        (torch.ones(2).to_sparse(), "a tensor of float32, torch.sparse_coo, on cpu"),
        (torch.ones(2, device="meta"), "a tensor of float32, torch.strided, on meta"),
        (torch.zeros(1).expand(2**40), "a tensor of 1,099,511,627,776 elements, above the limit"),
    ],
)
def test_a_value_that_may_not_cross_becomes_words(value: Any, words: str) -> None:
    assert crossed(value) == Opaque(words)


def test_a_value_nested_too_deep_becomes_words_where_it_is_too_deep() -> None:
    value: Any = []
    value.append(value)
    inner = crossed(value)
    for _ in range(25):
        [inner] = inner
    assert inner == Opaque("nested more than 24 levels deep")


def test_a_dtype_arrives_as_the_real_one() -> None:
    assert sent(DType("bfloat16")) is torch.bfloat16
    assert crossed(torch.bfloat16) == DType("bfloat16")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"tensor": ["float32", [4], [0], 0, 0, 4, "cpu"]}, "with strides where elements"),
        ({"tensor": ["float32", [2**40], [0], 0, 0, 4, "cpu"]}, "with strides where elements"),
        ({"tensor": ["float32", [2], [], 0, 0, 4, "cpu"]}, "does not match its bytes"),
        ({"tensor": ["float32", [1], [], 0, 64, 4, "cpu"]}, "outside the bytes"),
        ({"tensor": ["float32", [1], [], 0, 1, 4, "cpu"]}, "outside the bytes"),
        ({"tensor": ["float32", [1], [], 0, -64, 4, "cpu"]}, "outside the bytes"),
        ({"tensor": ["float32", [-1], [], 0, 0, 4, "cpu"]}, "a short list of whole numbers"),
        ({"tensor": ["float32", [1] * 65, [], 0, 0, 4, "cpu"]}, "a short list of whole numbers"),
        ({"tensor": ["float32", [True], [], 0, 0, 4, "cpu"]}, "a short list of whole numbers"),
        ({"tensor": ["float32", [2**61, 2**61, 0], [], 0, 0, 0, "cpu"]}, "malformed tensor"),
        ({"tensor": ["complex64", [1], [], 0, 0, 8, "cpu"]}, "dtype 'complex64'"),
        ({"tensor": [["float32"], [1], [], 0, 0, 4, "cpu"]}, "dtype"),
        ({"tensor": ["float32", [1], [], 0, 0, 4, {"a": 1}]}, "device without a name"),
        ({"tensor": ["bool", [1], [], 0, 0, 1, "cpu"]}, "neither 0 nor 1"),
        ({"tensor": "abcdefg"}, "dtype 'a'"),
        ({"tensor": []}, "malformed tensor"),
        ({"dict": [[1, 2], [1, 3]]}, "a key stands twice"),
        ({"dict": [[[1], 2]]}, "malformed dict"),
        ({"dict": [1, 2]}, "not pairs"),
        ({"set": [[1]]}, "malformed set"),
        ({"tuple": 1}, "not a list"),
        ({"int": "0x" + "f" * 2000}, "too long"),
        ({"int": "twelve"}, "malformed int"),
        ({"object": [1, "x" * 500]}, "not a number and a name"),
        ({"object": [1.5, "x"]}, "not a number and a name"),
        ({"dtype": "float16; import os"}, "not a name"),
        ({"opaque": 3}, "not words"),
        ({"pickle": b"."}, "a value of kind 'pickle'"),
        ({}, "a value of kind dict"),
        ({"int": "1", "tuple": []}, "a value of kind dict"),
        ({1: 2}, "a value of kind 1"),
        (msgspec.msgpack.Ext(1, b""), "a value of kind Ext"),
    ],
)
def test_what_no_worker_of_ours_writes_is_refused(raw: Any, words: str) -> None:
    with pytest.raises(BadFrame) as refusal:
        unpack(raw, Blobs(received=bytearray(b"\2" * 64)))
    assert words in str(refusal.value)


def test_keys_made_to_collide_are_refused_before_they_cost_anything() -> None:
    prime = 2**61 - 1  # whole numbers hash modulo it
    keys = [{"int": hex(prime * number)} for number in range(1, 30_000)]
    for raw in ({"set": keys}, {"dict": [[key, None] for key in keys]}):
        with pytest.raises(BadFrame) as refusal:
            unpack(raw, Blobs())
        assert "more than 32 keys of one hash" in str(refusal.value)
