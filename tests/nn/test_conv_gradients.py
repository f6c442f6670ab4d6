"""Derivatives of the layers: on every device, against finite differences, of second order, forward and functional."""

from __future__ import annotations

import pytest
import torch
from layers import KINDS, all_kinds, both, edge_index, layer
from strategies import corner
from torch import Tensor

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else []), *(["mps"] if torch.backends.mps.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@all_kinds
def test_gradients_on_every_device(kind, device):
    torch.manual_seed(0)
    conv = KINDS[kind](3, 4, walk_length=2)
    x, index = torch.randn(4, 3), edge_index(corner("directed"))
    conv(x, index).square().sum().backward()
    want = {name: parameter.grad.clone() for name, parameter in conv.named_parameters()}
    conv.zero_grad()
    conv.to(device)
    conv(x.to(device), index.to(device)).square().sum().backward()
    for name, parameter in conv.named_parameters():
        torch.testing.assert_close(parameter.grad.cpu(), want[name])


@all_kinds
def test_gradients_agree_with_finite_differences(kind):
    conv = layer(kind, 2, 4, 2, 2)
    x, index = torch.randn(4, 2, dtype=torch.float64, requires_grad=True), edge_index(corner("directed"))
    weight = torch.rand(index.size(1), dtype=torch.float64).add(0.5).requires_grad_()
    names = [name for name, _ in conv.named_parameters()]

    def output(x: Tensor, weight: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(conv, dict(zip(names, values, strict=True)), (x, index, weight))

    assert torch.autograd.gradcheck(output, (x, weight, *conv.parameters()))


@both
def test_second_derivatives_with_pytorchs_operators_and_a_message_without(kind):
    conv = layer(kind, 2, 4, 2, 2, backend="torch")
    x, index = torch.randn(4, 2, dtype=torch.float64, requires_grad=True), edge_index(corner("directed"))
    assert torch.autograd.gradgradcheck(lambda x: conv(x, index).square(), (x,))
    conv.backend = "auto"
    (gradient,) = torch.autograd.grad(conv(x, index).square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="backend='torch'"):
        gradient.sum().backward()


@both
def test_forward_mode_and_functional_gradients(kind):
    conv = layer(kind, 2, 4, 2, 2)
    x, index = torch.randn(4, 2, dtype=torch.float64), edge_index(corner("directed"))
    direction = torch.randn_like(x)

    def loss(x: Tensor) -> Tensor:
        return conv(x, index).square().sum()

    want = (loss(x + 1e-6 * direction) - loss(x - 1e-6 * direction)) / 2e-6
    torch.testing.assert_close(torch.func.jvp(loss, (x,), (direction,))[1], want, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close((torch.func.grad(loss)(x) * direction).sum(), want, rtol=1e-5, atol=1e-6)
