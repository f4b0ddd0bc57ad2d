r"""Reading the protobuf that Go clients send: `kubectl create`, event recorders, controllers.

A body is the mark `k8s\0`, then an envelope with apiVersion, kind and the object's own message. Messages are read by
the table of shapes into what the same client would have sent as JSON.
"""

import base64
import json
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

from pyroclast.emulator.schemas.shapes import SCALARS, Field, Shape, shape_of

__all__ = ["UnsupportedProtobuf", "decode"]

Json = dict[str, Any]
Value = int | bytes

_MARK = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DEEPEST = 64


class UnsupportedProtobuf(Exception):  # noqa: N818  # a limit of this server, not an error of the client
    """A body that is not read here: a kind outside the table, or no Kubernetes protobuf; the remedy is JSON."""


def decode(body: bytes) -> Json:
    """Read a body into the JSON object that it stands for.

    Raises:
        UnsupportedProtobuf: The kind is unknown, or the bytes are broken.
    """
    if not body.startswith(_MARK):
        raise UnsupportedProtobuf("the body lacks the mark of Kubernetes' protobuf")
    try:
        envelope = dict(_parts(body[len(_MARK) :]))
        head = dict(_parts(_bytes(envelope.get(1, b""))))
        api_version, kind = _text(head.get(1, b"")), _text(head.get(2, b""))
        shape = shape_of("meta/v1" if kind == "DeleteOptions" else api_version, kind)
        if shape is None:
            raise UnsupportedProtobuf(f"{api_version}, Kind={kind}")
        return {"kind": kind, "apiVersion": api_version, **_message(_bytes(envelope.get(2, b"")), shape, 0)}
    except (ValueError, IndexError, struct.error) as error:
        raise UnsupportedProtobuf(f"broken protobuf: {error}") from error


# --- the wire --------------------------------------------------------------------------------------------------------


def _parts(data: bytes) -> Iterator[tuple[int, Value]]:
    """Field numbers and raw values of a message."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire} of field {number}")
        if position + size > len(data):
            raise ValueError(f"field {number} is cut off")
        yield number, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where a message or text was expected")  # noqa: TRY004  # the data's fault, not a caller's
    return value


def _text(value: Value) -> str:
    return _bytes(value).decode()


def _signed(value: Value) -> int:
    if not isinstance(value, int):
        raise ValueError("bytes where a number was expected")  # noqa: TRY004  # the data's fault, not a caller's
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


# --- messages --------------------------------------------------------------------------------------------------------


def _message(data: bytes, shape: Shape, depth: int) -> Json:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    obj: Json = {}
    for number, raw in _parts(data):
        entry = shape.numbers.get(number)
        if entry is not None:
            _put(obj, entry, raw, depth)
        elif number in shape.embedded:
            obj.update(_message(_bytes(raw), shape.embedded[number], depth + 1))
    return obj


def _put(obj: Json, entry: Field, raw: Value, depth: int) -> None:
    if entry.container == "[]":
        obj.setdefault(entry.name, []).append(_value(entry, raw, depth))
    elif entry.container == "{}":
        pair = dict(_parts(_bytes(raw)))
        value = _value(entry, pair[2], depth) if 2 in pair else _nothing(entry)
        obj.setdefault(entry.name, {})[_text(pair.get(1, b""))] = value
    else:
        value = _value(entry, raw, depth)
        # Go clients write empty values too; in JSON they leave them out
        if value is not None and (value or entry.pointer or entry.required or entry.type_name not in SCALARS):
            obj[entry.name] = value


def _nothing(entry: Field) -> Any:
    return "" if entry.type_name in ("string", "bytes") else {} if entry.type_name not in SCALARS else None


def _value(entry: Field, raw: Value, depth: int) -> Any:
    reader = _READERS.get(entry.type_name)
    if reader is not None:
        return reader(raw)
    shape = entry.shape
    if shape is None:
        raise ValueError(f"no reader for {entry.type_name}")
    return _message(_bytes(raw), shape, depth + 1)


def _read_moment(raw: Value) -> tuple[int, int] | None:
    parts = dict(_parts(_bytes(raw)))
    seconds, nanos = _signed(parts.get(1, 0)), _signed(parts.get(2, 0))
    return (seconds, nanos) if seconds or nanos else None


def _time(raw: Value) -> str | None:
    found = _read_moment(raw)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", _calendar(found[0])) if found else None


def _micro_time(raw: Value) -> str | None:
    found = _read_moment(raw)
    if found is None:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%S", _calendar(found[0])) + f".{found[1] // 1000:06d}Z"


def _calendar(seconds: int) -> time.struct_time:
    if not 0 <= seconds < 1 << 38:
        raise ValueError(f"{seconds} is no moment")
    return time.gmtime(seconds)


def _quantity(raw: Value) -> str:
    return _text(dict(_parts(_bytes(raw))).get(1, b"0")) or "0"


def _int_or_string(raw: Value) -> int | str:
    parts = dict(_parts(_bytes(raw)))
    return _text(parts.get(3, b"")) if parts.get(1) == 1 else _signed(parts.get(2, 0))


def _raw_json(raw: Value) -> Any:
    text = _bytes(dict(_parts(_bytes(raw))).get(1, b""))
    return json.loads(text) if text else None


def _duration(raw: Value) -> str:
    nanos = _signed(dict(_parts(_bytes(raw))).get(1, 0))
    return f"{nanos / 1e9:g}s"


def _strings(raw: Value) -> list[str]:
    return [_text(value) for _number, value in _parts(_bytes(raw))]


def _float(raw: Value) -> float:
    (value,) = struct.unpack("<d", _bytes(raw))
    return float(value)


_READERS: dict[str, Callable[[Value], Any]] = {
    "string": _text,
    "int": _signed,
    "int32": _signed,
    "int64": _signed,
    "byte": _signed,
    "bool": lambda raw: bool(_signed(raw)),
    "float64": _float,
    "bytes": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "Time": _time,
    "MicroTime": _micro_time,
    "Duration": _duration,
    "Object": _raw_json,
    "Fields": _raw_json,
    "Strings": _strings,
}
