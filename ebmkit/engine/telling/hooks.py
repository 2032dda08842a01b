"""The life-cycle hooks of plugins. A hook that raises is disabled, and the run continues.

A hook that modifies data or samples of the run in place ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import pluggy

from ebmkit.engine.shared_tensors import watched
from ebmkit.errors.describe import describe_error
from ebmkit.errors.running import ComponentFailed
from ebmkit.errors.source import Place
from ebmkit.language.plan import Plan
from ebmkit.registry.slow_calls import SlowCalls


class Implementation(NamedTuple):
    """A function of a plugin, and the names of the arguments that it takes."""

    plugin: str
    place: Place | None
    function: Callable[..., Any]
    wanted: tuple[str, ...]


class Hooks:
    """The implementations of each hook, looked up once: `hooks.step_ended(view=view, step=7)`."""

    def __init__(self, plan: Plan, warn: Callable[[str], None], say: Callable[[str], None]) -> None:
        names = {loaded.module: loaded.plugin.label for loaded in plan.plugins}
        places = {loaded.module: plan.place(("plugins", loaded.plugin.namespace)) for loaded in plan.plugins}
        self._slow = SlowCalls(say, "Ctrl-C twice ends the run")
        self.run_started = Hook(plan.hooks.ebmkit_run_started, names, places, warn, self._slow)
        self.step_ended = Hook(plan.hooks.ebmkit_step_ended, names, places, warn, self._slow)
        self.checkpoint_saved = Hook(plan.hooks.ebmkit_checkpoint_saved, names, places, warn, self._slow)
        self.run_finished = Hook(plan.hooks.ebmkit_run_finished, names, places, warn, self._slow)

    def watched(self) -> AbstractContextManager[None]:
        """Within this context, hooks that take long are named."""
        hooks = (self.run_started, self.step_ended, self.checkpoint_saved, self.run_finished)
        return self._slow.watched() if any(hook.used for hook in hooks) else nullcontext()


class Hook:
    """One hook and its implementations."""

    def __init__(
        self,
        caller: pluggy.HookCaller,
        names: dict[str, str],
        places: dict[str, Place],
        warn: Callable[[str], None],
        slow: SlowCalls,
    ) -> None:
        self.name = caller.name
        self.warn, self._slow = warn, slow
        self._implementations = [
            Implementation(
                names.get(each.plugin_name, each.plugin_name),
                places.get(each.plugin_name),
                each.function,
                tuple(each.argnames),
            )
            for each in caller.get_hookimpls()
        ]

    @property
    def used(self) -> bool:
        """Whether a plugin implements it."""
        return bool(self._implementations)

    def __call__(self, **arguments: Any) -> None:
        if self._implementations:
            for implementation in list(self._implementations):
                self._call(implementation, arguments)

    def _call(self, implementation: Implementation, arguments: dict[str, Any]) -> None:
        plugin = implementation.plugin
        with watched(arguments["view"]) as shared:
            self._slow.begin(f"hook '{self.name}' of {plugin}")
            try:
                implementation.function(**{name: arguments[name] for name in implementation.wanted})
            except (Exception, SystemExit) as error:
                self._implementations.remove(implementation)
                said = f"raised {describe_error(error)}; it is disabled for the rest of the run"
                self.warn(f"{plugin}: hook '{self.name}' {said}")
            finally:
                self._slow.end()
        if modified := shared.modified():  # the run ends: all that follows would use it
            who = f"hook '{self.name}' of {plugin}"
            raise ComponentFailed(f"{who} modified {modified} in place: work on a copy", implementation.place)
