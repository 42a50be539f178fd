"""A pair is one complex number and the rotation one multiplication, all in complex128."""

import torch
from torch import Tensor


def rope_frequencies(head_dim: int, theta: float = 10000.0) -> Tensor:
    if head_dim < 0 or head_dim % 2 == 1:
        raise ValueError(f"head_dim must be even, got {head_dim}")
    return (1.0 / theta ** (torch.arange(0, head_dim, 2).double() / head_dim)).float()


def apply_rope(x, positions, *, theta=10000.0, interleaved=False, rotary_dim=None):
    if x.ndim != 4:
        raise ValueError("x must be [B, H, T, D]")
    B, H, T, D = x.shape
    r = D if rotary_dim is None else rotary_dim
    if r < 0 or r > D or r % 2:
        raise ValueError(f"cannot turn {r} of {D} channels")
    if tuple(positions.shape) == (T,):
        positions = positions.reshape(1, T).expand(B, T)
    elif tuple(positions.shape) != (B, T):
        raise ValueError(f"positions of shape {tuple(positions.shape)} for x of {tuple(x.shape)}")
    exponent = torch.arange(r // 2, dtype=torch.float64, device=x.device) * (-2.0 / max(r, 1))
    angle = positions.double().view(B, 1, T, 1) * torch.pow(theta, exponent)
    turn = torch.polar(torch.ones_like(angle), angle)

    rotated = x[..., :r].double()
    if interleaved:
        z = torch.view_as_complex(rotated.reshape(B, H, T, r // 2, 2).contiguous())
        out = torch.view_as_real(z * turn).reshape(B, H, T, r)
    else:
        z = torch.complex(rotated[..., : r // 2], rotated[..., r // 2 :]) * turn
        out = torch.cat((z.real, z.imag), dim=-1)
    result = x.clone()
    result[..., :r] = out.to(x.dtype)
    return result
