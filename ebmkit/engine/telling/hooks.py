"""The life-cycle hooks of plugins. A hook that raises is disabled, and the run continues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pluggy

from ebmkit.errors.describe import describe_error
from ebmkit.language.plan import Plan


class Hooks:
    """The implementations of each hook, looked up once: `hooks.step_ended(view=view, step=7)`."""

    def __init__(self, plan: Plan, warn: Callable[[str], None]) -> None:
        names = {loaded.module: loaded.plugin.label for loaded in plan.plugins}
        self.run_started = Hook(plan.hooks.ebmkit_run_started, names, warn)
        self.step_ended = Hook(plan.hooks.ebmkit_step_ended, names, warn)
        self.checkpoint_saved = Hook(plan.hooks.ebmkit_checkpoint_saved, names, warn)
        self.run_finished = Hook(plan.hooks.ebmkit_run_finished, names, warn)


class Hook:
    """One hook and its implementations."""

    def __init__(self, caller: pluggy.HookCaller, names: dict[str, str], warn: Callable[[str], None]) -> None:
        self.name = caller.name
        self.warn = warn
        self._implementations = [
            (names.get(each.plugin_name, each.plugin_name), each.function, tuple(each.argnames))
            for each in caller.get_hookimpls()
        ]

    def __call__(self, **arguments: Any) -> None:
        if self._implementations:
            for implementation in list(self._implementations):
                self._call(implementation, arguments)

    def _call(self, implementation: tuple[str, Callable[..., Any], tuple[str, ...]], arguments: dict[str, Any]) -> None:
        plugin, function, wanted = implementation
        try:
            function(**{name: arguments[name] for name in wanted})
        except (Exception, SystemExit) as error:
            self._implementations.remove(implementation)
            self.warn(
                f"{plugin}: hook '{self.name}' raised {describe_error(error)}; it is disabled for the rest of the run"
            )
