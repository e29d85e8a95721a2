"""Compiled CSV lines of numbers and texts: every double in its shortest round-trip decimal.

Importing this module compiles it, or loads what was compiled before. A double c·2^q lies in the interval
of numbers that are read as it; of the decimals there the shortest is taken, and of those the closest
[giulietti2020].

| here | giulietti2020 | meaning |
| --- | --- | --- |
| c, q | c, q | a double is c·2^q, c a whole number below 2⁵³ |
| d, k | d, k | its decimal is d·10^k; d has 16 or 17 digits, zeros at its end included |
| g, h | g, h | 2^q·10⁻ᵏ is g·2ʰ / 2¹²⁸ (`powers.py`) |
| point | | digits before the decimal point |

Numbers go through one loop for each step, a tile at a time, and none of them branches on digits: such
a branch is guessed wrong at every other number, and costs more than all steps together. Places are
counted in unsigned words, and what these functions call is in this file, as in the noise's kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Counts = NDArray[np.int64]
Forms = NDArray[np.int16]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]

TILE_VALUES = 1_024
"""Numbers that go through all loops together: what they touch stays next to the core."""

NUMBER_BYTES = 24
"""The most that a number takes: a sign, `0.0000` and 17 digits, or one digit, a point, 16 and `e-89`."""

SLACK_BYTES = 32
"""Digits and letters are written eight at a time: so much is touched behind the last of them."""

OTHERS = -1
"""What `lines` answers where a cell needs another form than these: `1e16`, `5e-324`, `inf`, quotes."""

DOUBLE, WHOLE = -1, -2
"""Columns of numbers."""

MISSING_WHOLE = np.int64(-(2**63))

_NONE, _ONE, _TWO, _THREE, _FOUR = (np.uint64(number) for number in range(5))
_EIGHT, _TEN, _SIXTEEN, _WORD = (np.uint64(number) for number in (8, 10, 16, 64))
_SIGN_PLACE = np.uint64(63)
_WITHOUT_SIGN = np.uint64(2**63 - 1)
_FRACTION_BITS = np.uint64(52)
_FRACTION = np.uint64(2**52 - 1)
_HIDDEN = np.uint64(2**52)
_INFINITE = np.uint64(0x7FF << 52)
_POWERS_OF_TWO = np.uint64(2_048 * 8)
_HALF_WORD = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_BILLION = np.uint64(10**9)
_SIXTEEN_DIGITS, _SEVENTEEN_DIGITS = np.uint64(10**16), np.uint64(10**17)
_MOST_DIGITS = np.uint64(17)
_DIGITS = np.uint64(0x3030303030303030)
_ZERO_POINT = np.uint64(0x3030303030302E30)  # "0.000000", the first in the lowest byte
_ZERO, _MINUS, _POINT, _COMMA, _LINE, _QUOTE, _E = (np.uint8(ord(c)) for c in '0-.,\n"e')
_RETURN = np.uint8(13)

# Quarters of 10^k with 58 bits behind their point: forty of them fit in a word.
_FORTY = np.uint64(40)
_QUARTER_BITS, _REST_BITS = np.uint64(58), np.uint64(6)
_TENTH = np.uint64(40 << 58)

# The form of a number: where its point is, or one of these.
_MISSING = 2_000
_OTHER = 3_000
_BEFORE_POINT = 16  # more digits than these before the point are written with an exponent,
_ZEROS_BEHIND = -5  # and so are numbers with so many zeros behind it
_LEAST_POINT = -90  # of exponents, those of two digits are written here


def _generated(function: Callable[..., Any]) -> Any:
    """What numba has no words for; mypy knows nothing of how it is called."""
    return intrinsic(function)


@_generated
def _high_word(_context: Any, _a: Any, _b: Any) -> Any:
    """The upper word of a product of two words."""

    def generated(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        a, b = (builder.zext(argument, wide) for argument in arguments)
        return builder.trunc(builder.lshr(builder.mul(a, b), ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generated


@_generated
def _zeros_above(_context: Any, _word: Any) -> Any:
    """Return how many bits of a word are 0 above its highest 1; 64 where all are."""

    def generated(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generated


def _place(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    """Offset of a word in an array of bytes."""
    bytes_ = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(bytes_, [at]), ir.IntType(64).as_pointer())


@_generated
def _write_word(_context: Any, out: Any, _at: Any, _word: Any) -> Any:
    """Eight bytes from `at` on, the lowest of the word first, as processors have it that we know."""

    def generated(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        array, at, word = arguments
        builder.store(word, _place(context, builder, out, array, at), align=1)
        return context.get_dummy_value()

    return types.void(out, types.uint64, types.uint64), generated


@_generated
def _read_word(_context: Any, letters: Any, _at: Any) -> Any:
    """What `_write_word` writes."""

    def generated(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, letters, *arguments), align=1)

    return types.uint64(letters, types.uint64), generated


@njit(nogil=True, error_model="numpy")
def _rounded_to_odd(g_high: np.uint64, g_low: np.uint64, c: np.uint64) -> np.uint64:
    """⌊g·c / 2¹²⁸⌋, its lowest bit set where that is not exact [giulietti2020]."""
    below = g_high * c
    middle = below + _high_word(g_low, c)
    above: np.uint64 = _high_word(g_high, c) + np.uint64(middle < below)
    return above | np.uint64(middle > _ONE)


@njit(nogil=True, error_model="numpy")
def _power_of_two(row: np.uint64, powers: Words) -> np.uint64:
    """d, where c is 2⁵² [giulietti2020].

    All is counted in quarters of 10^k: the double, and the ends of the interval that is read as it,
    which is half as long below as above. Both ends belong to it, for c is even.
    """
    quarters = _HIDDEN << _TWO
    g_high, g_low, h = powers[row], powers[row + _ONE], powers[row + _THREE]
    value = _rounded_to_odd(g_high, g_low, quarters << h)
    least = _rounded_to_odd(g_high, g_low, (quarters - _ONE) << h)
    most = _rounded_to_odd(g_high, g_low, (quarters + _TWO) << h)
    d = value >> _TWO
    tenth = d // _TEN
    below, above = least <= tenth * _FORTY, tenth * _FORTY + _FORTY <= most
    if below != above:
        return (tenth + np.uint64(above)) * _TEN
    below, above = least <= d << _TWO, (d << _TWO) + _FOUR <= most
    if below != above:
        return d + np.uint64(above)
    return d + np.uint64((value & _THREE) + (d & _ONE) > _TWO)


@njit(nogil=True, error_model="numpy")
def _special(plain: np.uint64, powers: Words) -> tuple[np.uint64, np.int64]:
    """What `_chosen` finds, of a power of two, of 0, and of what has no digits here."""
    if plain == _NONE:
        return _NONE, np.int64(1)
    if plain > _INFINITE:
        return _NONE, np.int64(_MISSING)
    if plain == _INFINITE or plain < _HIDDEN:
        return _NONE, np.int64(_OTHER)
    row = (plain >> _FRACTION_BITS << _THREE) + _POWERS_OF_TWO
    return _power_of_two(row, powers), np.int64(powers[row + _FOUR]) + 16


@njit(nogil=True, error_model="numpy")
def _scaled(
    doubles: Words, start: int, stop: int, powers: Words, bits: Words, upper: Words, lower: Words
) -> None:
    """Doubles row by row, and their quarters of 10^k: whole ones, and the first word behind them."""
    width = np.uint64(len(doubles))
    for j in range(len(doubles)):
        column = doubles[j, start:stop]
        i = np.uint64(j)
        for each in range(len(column)):
            bits[i] = column[each]
            plain = column[each] & _WITHOUT_SIGN
            row = plain >> _FRACTION_BITS << _THREE
            c = ((plain & _FRACTION) | _HIDDEN) << _TWO << powers[row + _THREE]
            below = powers[row] * c
            middle = below + _high_word(powers[row + _ONE], c)
            upper[i] = _high_word(powers[row], c) + np.uint64(middle < below)
            lower[i] = middle
            i += width


@njit(nogil=True, error_model="numpy")
def _chosen(bits: Words, powers: Words, digits: Words, lower: Words, forms: Forms) -> None:
    """d in place of what `_scaled` has in `upper`, and the form, less one where d has 17 digits.

    A tenth, a multiple of 10^(k+1), is taken where one is in the interval, and else the whole number
    closest to the double: it is inside, for 10^k is no longer than the interval.

    Departs from [giulietti2020]: the ends of the interval are not multiplied out, but known to
    58 bits. No double that is written here has a tenth so near to an end (tested for all of them), so it
    matters neither what is cut off nor whether the end belongs to the interval.
    """
    for i in range(len(bits)):
        plain = bits[i] & _WITHOUT_SIGN
        row = plain >> _FRACTION_BITS << _THREE
        half = powers[row + _TWO]
        quarters, behind = digits[i], lower[i]
        d = quarters >> _TWO
        tenth = d // _TEN
        over = ((quarters - tenth * _FORTY) << _QUARTER_BITS) | (behind >> _REST_BITS)
        under = _TENTH - over
        rest = (quarters & _THREE) | np.uint64(behind > _ONE)
        d += np.uint64(rest + (d & _ONE) > _TWO)
        up = under < half
        d = (tenth + np.uint64(up)) * _TEN if up | (over < half) else d
        form = np.int64(powers[row + _FOUR]) + 16
        if (plain & _FRACTION == _NONE) | (plain - _HIDDEN >= _INFINITE - _HIDDEN):
            d, form = _special(plain, powers)
        digits[i] = d
        forms[i] = form


@njit(nogil=True, error_model="numpy")
def _whole(
    numbers: Words, start: int, stop: int, tens: Words, bits: Words, digits: Words, forms: Forms
) -> None:
    """Whole numbers row by row, their digits with zeros behind, and how many there are as the form."""
    width = np.uint64(len(numbers))
    for j in range(len(numbers)):
        column = numbers[j, start:stop]
        i = np.uint64(j)
        for each in range(len(column)):
            bits[i] = column[each]
            value = np.int64(column[each])
            d = np.uint64(abs(value))
            fits = d < _SEVENTEEN_DIGITS
            d = d if fits else _NONE
            about = ((_WORD - _zeros_above(d | _ONE)) * np.uint64(1233)) >> np.uint64(12)  # log₁₀ 2
            n = about + np.uint64((d | _ONE) >= tens[about])
            d *= tens[_MOST_DIGITS - n]
            form = np.int64(n) - np.int64(d > _NONE) if fits else np.int64(_OTHER)
            forms[i] = _MISSING if value == MISSING_WHOLE else form
            digits[i] = d
            i += width


@njit(nogil=True, error_model="numpy")
def _aligned(digits: Words, forms: Forms, second: Words, last: Bytes) -> None:
    """17 digits: eight in place of all, eight, and one as a letter."""
    for i in range(len(digits)):
        d = digits[i]
        long = d >= _SIXTEEN_DIGITS
        forms[i] += np.int16(long)
        d = d if long else d * _TEN
        eight = d // _BILLION
        nine = d - eight * _BILLION
        ten = (nine * np.uint64(3435973837)) >> np.uint64(35)  # // 10, below 2³²
        digits[i] = eight
        second[i] = ten
        last[i] = np.uint8(nine - ten * _TEN) + _ZERO


@njit(nogil=True, error_model="numpy")
def _letters_of_eight(words: Words) -> None:
    """Eight digits become eight letters, the first in the lowest byte, in place.

    Halves of four digits, then quarters of two, then single ones, each step in all lanes of a word. A
    division is a product and a shift: exact for numbers as small as these.
    """
    for i in range(len(words)):
        value = words[i] & _HALF_WORD
        upper = ((value * np.uint64(3518437209)) >> np.uint64(45)) & _HALF_WORD
        lower = value - ((upper * np.uint64(10_000)) & _HALF_WORD)
        upper_high = (upper * np.uint64(10486)) >> np.uint64(20)
        lower_high = ((lower * np.uint64(10486)) >> np.uint64(20)) & _HALF_WORD
        upper_low = upper - upper_high * np.uint64(100)
        lower_low = lower - ((lower_high * np.uint64(100)) & _HALF_WORD)
        high = upper_high | (lower_high << _HALF)
        low = upper_low | (lower_low << _HALF)
        pairs = high | (low << np.uint64(16))
        product = (pairs << np.uint64(6)) + (pairs << np.uint64(5)) + (pairs << _TWO)
        product = product + (pairs << _ONE) + pairs  # 103 times each
        tens = (product >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
        units = pairs - ((tens << _THREE) + (tens << _ONE))
        words[i] = tens | (units << _EIGHT) | _DIGITS


@njit(nogil=True, error_model="numpy", forceinline=True)
def _without_zeros(first: np.uint64, second: np.uint64, last: np.uint8) -> np.int64:
    """Return how many of 17 digits are left without the zeros at their end."""
    upper, lower = first ^ _DIGITS, second ^ _DIGITS
    left = _SIXTEEN if lower != _NONE else _EIGHT
    word = lower if lower != _NONE else upper
    left -= _zeros_above(word) >> _THREE
    return np.int64(left) if last == _ZERO else np.int64(_MOST_DIGITS)


@njit(nogil=True, error_model="numpy")
def _write_small(
    form: np.int64, first: np.uint64, second: np.uint64, last: np.uint8, out: Bytes, at: np.uint64
) -> np.uint64:
    """1.2e-7, without the sign; where it ends."""
    _write_word(out, at + _ONE, first)
    _write_word(out, at + np.uint64(9), second)
    out[at + np.uint64(17)] = last
    out[at] = out[at + _ONE]
    out[at + _ONE] = _POINT
    n = _without_zeros(first, second, last)
    at += np.uint64(n + 1) if n > 1 else _ONE
    out[at] = _E
    out[at + _ONE] = _MINUS
    at += _TWO
    power = np.uint64(1 - form)
    out[at] = np.uint8(np.uint64(_ZERO) + power // _TEN)
    at += np.uint64(power >= _TEN)
    out[at] = np.uint8(np.uint64(_ZERO) + power % _TEN)
    return at + _ONE


@njit(nogil=True, error_model="numpy", forceinline=True)
def _write_large(
    point: np.int64, first: np.uint64, second: np.uint64, last: np.uint8, out: Bytes, at: np.uint64
) -> np.uint64:
    """123456789.5, without the sign; where it ends."""
    _write_word(out, at, first)
    _write_word(out, at + _EIGHT, second)
    at += np.uint64(point)
    out[at] = _POINT
    # Both shifts are made in halves: a word shifted by 64 at once would stay as it is.
    taken, left = np.uint64(4 * (point - 8)), np.uint64(4 * (16 - point))
    _write_word(out, at + _ONE, (second >> taken >> taken) | (np.uint64(last) << left << left))
    out[at + np.uint64(9)] = last
    behind = _without_zeros(first, second, last) - point
    return at + (np.uint64(behind + 1) if behind > 1 else _TWO)


@njit(nogil=True, error_model="numpy", forceinline=True)
def _write_common(
    point: np.int64, first: np.uint64, second: np.uint64, last: np.uint8, out: Bytes, at: np.uint64
) -> np.uint64:
    """12.34 and 0.0012, without the sign, by the same steps; where it ends."""
    before = np.uint64(point) if point > 0 else _NONE
    _write_word(out, at, first if point > 0 else _ZERO_POINT)
    out[at + (before if point > 0 else _ONE)] = _POINT
    at += np.uint64(1 + point if point > 0 else 2 - point)
    taken = before << _THREE
    left = _SIGN_PLACE - taken
    _write_word(out, at, (first >> taken) | (second << _ONE << left))
    _write_word(out, at + _EIGHT, (second >> taken) | (np.uint64(last) << _ONE << left))
    out[at + _SIXTEEN] = last
    behind = _without_zeros(first, second, last) - np.int64(before)
    return at + (np.uint64(behind) if behind > 1 else _ONE)


@njit(nogil=True, error_model="numpy", forceinline=True)
def _write_whole(
    i: np.uint64,
    bits: Words,
    forms: Forms,
    first: Words,
    second: Words,
    last: Bytes,
    out: Bytes,
    at: np.uint64,
) -> np.uint64:
    """The i-th number of a tile, a whole one; where it ends."""
    out[at] = _MINUS
    at += bits[i] >> _SIGN_PLACE
    _write_word(out, at, first[i])
    _write_word(out, at + _EIGHT, second[i])
    out[at + _SIXTEEN] = last[i]
    return at + np.uint64(forms[i])


@njit(nogil=True, error_model="numpy")
def _need_quotes(letters: Bytes) -> bool:
    found = np.uint8(0)
    for i in range(len(letters)):
        letter = letters[i]
        found |= np.uint8(letter == _QUOTE) | np.uint8(letter == _COMMA)
        found |= np.uint8(letter == _LINE) | np.uint8(letter == _RETURN)
    return bool(found)


@njit(nogil=True, error_model="numpy")
def _rows(  # noqa: PLR0912 - numba counts references where a called function branches
    start: np.uint64,
    stop: np.uint64,
    order: Counts,
    doubles: np.uint64,
    bits: Words,
    forms: Forms,
    first: Words,
    second: Words,
    last: Bytes,
    offsets: Counts,
    missing: Flags,
    letters: Bytes,
    out: Bytes,
    at: np.uint64,
) -> tuple[np.uint64, int]:
    """The lines of a tile, from `at`: where they end, or 0 where a form is unknown; missing numbers."""
    gaps = 0
    double, whole = _NONE, doubles * (stop - start)
    for row in range(start, stop):
        for column in range(np.uint64(len(order))):
            kind = order[column]
            if kind == DOUBLE:
                i, double = double, double + _ONE
                form = np.int64(forms[i])
                out[at] = _MINUS
                if _ZEROS_BEHIND < form < 8:
                    at += bits[i] >> _SIGN_PLACE
                    at = _write_common(form, first[i], second[i], last[i], out, at)
                elif form == _MISSING:
                    gaps += 1
                elif 0 < form <= _BEFORE_POINT:
                    at += bits[i] >> _SIGN_PLACE
                    at = _write_large(form, first[i], second[i], last[i], out, at)
                elif _LEAST_POINT < form < 0:
                    at += bits[i] >> _SIGN_PLACE
                    at = _write_small(form, first[i], second[i], last[i], out, at)
                else:
                    return _NONE, gaps
            elif kind == WHOLE:
                i, whole = whole, whole + _ONE
                if forms[i] == _MISSING:
                    gaps += 1
                elif forms[i] == _OTHER:
                    return _NONE, gaps
                else:
                    at = _write_whole(i, bits, forms, first, second, last, out, at)
            else:
                text = np.uint64(kind)
                begin, end = offsets[text, row], offsets[text, row + _ONE]
                if missing[text, row]:
                    pass
                elif begin < end:
                    length, j = np.uint64(end - begin), _NONE
                    while j < length:
                        word = _read_word(letters, np.uint64(begin) + j)
                        _write_word(out, at + j, word)
                        j += _EIGHT
                    at += length
                else:  # nothing at all would be a missing text
                    out[at] = _QUOTE
                    out[at + _ONE] = _QUOTE
                    at += _TWO
            out[at] = _COMMA
            at += _ONE
        out[at - _ONE] = _LINE
    return at, gaps


_read_words = types.Array(types.uint64, 2, "C", readonly=True)
_read_powers = types.Array(types.uint64, 1, "C", readonly=True)
_read_flags = types.Array(types.boolean, 2, "C", readonly=True)
_read_offsets = types.Array(types.int64, 2, "C", readonly=True)
_read_order = types.Array(types.int64, 1, "C", readonly=True)
_read_letters = types.Array(types.uint8, 1, "C", readonly=True)


@njit(
    types.int64(
        _read_order,
        _read_words,
        _read_words,
        types.int64,
        _read_offsets,
        _read_flags,
        _read_letters,
        _read_powers,
        types.uint8[::1],
    ),
    nogil=True,
    cache=True,
    error_model="numpy",
)
def lines(
    order: Counts,
    doubles: Words,
    whole: Words,
    gaps: int,
    offsets: Counts,
    missing: Flags,
    letters: Bytes,
    powers: Words,
    out: Bytes,
) -> int:
    """Write n lines of cells, with commas between them, to `out`; the bytes written, or OTHERS.

    where:
        order    for each column DOUBLE or WHOLE, the next of them, or its row of `offsets`
        doubles  (d, n): the bits of doubles, NaN where one is missing
        whole    (w, n): whole numbers, MISSING_WHOLE where one is missing
        gaps     how many numbers are missing: with more NaN than that, some are numbers themselves
        offsets  (t, n + 1): where a text begins in `letters`, behind which are SLACK_BYTES
        missing  (t, n): texts that are not there
        powers   those of `powers.py`
        out      room for NUMBER_BYTES and a comma a number, all texts with two quotes and a comma
                 each, and SLACK_BYTES
    """
    if _need_quotes(letters):
        return OTHERS
    n = max(doubles.shape[1], whole.shape[1], missing.shape[1])
    d, width = len(doubles), len(doubles) + len(whole)
    height = max(1, TILE_VALUES // max(1, width))
    tens = np.empty(18, np.uint64)
    tens[0] = _ONE
    for i in range(1, len(tens)):
        tens[i] = tens[i - 1] * _TEN
    room = width * height
    bits, first, second = (
        np.empty(room, np.uint64),
        np.empty(room, np.uint64),
        np.empty(room, np.uint64),
    )
    forms, last = np.empty(room, np.int16), np.empty(room, np.uint8)
    at = _NONE
    for start in range(0, n, height):
        stop = min(start + height, n)
        border, made = d * (stop - start), width * (stop - start)
        if d > 0:
            _scaled(doubles, start, stop, powers, bits, first, second)
            _chosen(bits[:border], powers, first, second, forms)
        if d < width:
            _whole(whole, start, stop, tens, bits[border:], first[border:], forms[border:])
        _aligned(first[:made], forms, second, last)
        _letters_of_eight(first[:made])
        _letters_of_eight(second[:made])
        at, found = _rows(
            np.uint64(start),
            np.uint64(stop),
            order,
            np.uint64(d),
            bits,
            forms,
            first,
            second,
            last,
            offsets,
            missing,
            letters,
            out,
            at,
        )
        gaps -= found
        if at == _NONE:
            return OTHERS
    return int(at) if gaps == 0 else OTHERS
