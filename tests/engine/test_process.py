"""Settings of the whole process."""

import pytest
import torch

from ebmkit.engine.process import insist_on_determinism, settings_kept


@pytest.mark.parametrize("before", ["default", "warn", "error"])
@pytest.mark.parametrize("wanted", [True, False])
def test_determinism_is_set_for_compiled_code_too_and_restored(before, wanted):
    from torch._inductor import config

    mode, compiled = torch.get_deterministic_debug_mode(), config.deterministic
    torch.set_deterministic_debug_mode(before)
    began = torch.get_deterministic_debug_mode()
    try:
        with settings_kept():
            insist_on_determinism(wanted, compiled=True)
            assert torch.get_deterministic_debug_mode() == (2 if wanted else 0)
            assert config.deterministic == wanted
        assert torch.get_deterministic_debug_mode() == began
        assert config.deterministic == (began > 0)
    finally:
        torch.set_deterministic_debug_mode(mode)
        config.deterministic = compiled
