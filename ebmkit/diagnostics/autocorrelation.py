"""Autocorrelation and autocovariance of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


def autocorrelation(x: Tensor, lags: int) -> Tensor:
    """The autocorrelation of each chain at the lags 0, ..., lags - 1: `(chains, lags, *coords)`, in the dtype of x.

        rho_t = c_t / c_0,    c_t = 1/N sum_{i < N - t} (x_i - mean) (x_{i+t} - mean)

    NaN for chains that never move.
    """
    c = autocovariance(x, lags)
    return c / c[:, :1]


def autocovariance(x: Tensor, lags: int) -> Tensor:
    """c_t as above, by fast Fourier transform: the inverse transform of the power spectrum of the zero-padded chain."""
    draws = x.shape[1]
    x = x - x[:, :1]  # makes a constant chain exactly zero, which subtracting a rounded mean would not
    x = x - x.mean(1, keepdim=True)
    length = 1 << (2 * draws - 1).bit_length()  # a power of two, for speed
    spectrum = torch.fft.rfft(x, n=length, dim=1)
    power = spectrum.real.square() + spectrum.imag.square()
    c: Tensor = torch.fft.irfft(power, n=length, dim=1)
    return c[:, :lags] / draws
