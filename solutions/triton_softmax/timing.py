"""At which sizes the kernel's speed is shown, and how many bytes it has to move there."""

import torch

FUNCTION = "softmax"
SHAPES = [(4096, 256), (4096, 4096), (4096, 16_384), (512, 131_072), (64, 100_000)]


def cases(device):
    """(label, arguments, bytes that have to move): each element read once and written once."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for rows, cols in SHAPES:
            x = torch.empty(rows, cols, dtype=dtype, device=device)
            if device != "meta":
                x.normal_(generator=torch.Generator(device).manual_seed(0))
            name = str(dtype).removeprefix("torch.")
            yield f"{rows} x {cols} {name}", (x,), 2 * x.numel() * x.element_size()
