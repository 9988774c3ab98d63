"""The curve of Ed25519 in its defining formulas (RFC 8032, 5.1), slow and plain."""

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, PRIME) % PRIME

Point = tuple[int, int]


def recover_x(y: int) -> int | None:
    """Return an x of the point with this y; None if there is no such point."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    return x if (x * x - square) % PRIME == 0 else None


def add_points(one: Point, other: Point) -> Point:
    """Return the sum of two points."""
    (x1, y1), (x2, y2) = one, other
    k = _D * x1 * x2 * y1 * y2 % PRIME
    x = (x1 * y2 + y1 * x2) * pow(1 + k, -1, PRIME)
    y = (y1 * y2 + x1 * x2) * pow(1 - k, -1, PRIME)
    return x % PRIME, y % PRIME


def multiply_point(number: int, point: Point) -> Point:
    """Return a multiple of a point."""
    out = (0, 1)
    while number:
        if number & 1:
            out = add_points(out, point)
        point = add_points(point, point)
        number >>= 1
    return out


def encode_point(x: int, y: int) -> bytes:
    """Return the canonical encoding of a point."""
    return (y | (x & 1) << 255).to_bytes(32, "little")
