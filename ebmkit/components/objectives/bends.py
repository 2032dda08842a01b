"""Networks that have no curvature to learn from."""

from __future__ import annotations

from ebmkit.contracts.kinds import Model
from ebmkit.contracts.walk import walk

#: Activations whose second derivative is zero wherever it exists.
BENT = {"relu", "leaky_relu"}


def needs_curvature(model: Model) -> str | None:
    """Why second derivatives cannot train this model, in words that follow an objective's name; None if they can."""
    bent = BENT & {str(getattr(part, "activation", "")) for _, part in walk(model, ("model",))}
    return f"learns from second derivatives, and those of '{min(bent)}' are zero: take 'silu'" if bent else None
