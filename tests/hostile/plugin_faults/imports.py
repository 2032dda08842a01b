"""Faults of an import: it fails, or it changes the process."""

# ruff: noqa: E501  # lines of the plugins below

from __future__ import annotations

from .fault import SQUARE, UNPRINTABLE, Fault, imported

IMPORT = {
    "a missing module": Fault("import no_such_module_anywhere", "ModuleNotFoundError"),
    "a missing name": Fault("from ebmkit.api import Nothing", "ImportError"),
    "a syntax error": Fault("def broken(:", "SyntaxError"),
    "null bytes": Fault(b"x = 1\x00\n", "importing it raised"),
    "source in another encoding": Fault(b"# -*- coding: no-such-encoding -*-\n", "importing it raised SyntaxError"),
    "source in Latin-1": Fault(b"x = 'caf\xe9'\n" + SQUARE.encode(), "importing it raised SyntaxError"),
    "source that is compiled code": Fault(bytes(range(1, 256)), "importing it raised SyntaxError"),
    "sys.exit": Fault("raise SystemExit(0)", "SystemExit"),
    "KeyboardInterrupt": Fault("raise KeyboardInterrupt", "importing it raised KeyboardInterrupt"),
    "its own BaseException": Fault("class E(BaseException): pass\nraise E('x')", "importing it raised E: x"),
    "an endless recursion": Fault("def f(): f()\nf()", "RecursionError"),
    "no memory": Fault("raise MemoryError", "importing it raised MemoryError"),
    "a failed assertion": Fault("assert False, 'one\\n\\ntwo'", "AssertionError: one two"),
    "a group of exceptions": Fault("raise ExceptionGroup('several', [ValueError('a')])", "ExceptionGroup: several"),
    "an exception that cannot be printed": Fault(UNPRINTABLE + "raise Unprintable", "its message cannot be shown"),
    "an exception whose text is no string": Fault(
        "class Odd(Exception):\n    def __str__(self): return 7\nraise Odd", "its message cannot be shown"
    ),
    "an exception whose text is a hostile string": Fault(
        "class Text(str):\n    def split(self, *a): raise OSError\n    __format__ = split\n"
        "class Odd(Exception):\n    def __str__(self): return Text('quiet')\nraise Odd",
        "Odd: quiet",
    ),
    "an exception of a class without a name": Fault(
        "class Meta(type):\n    @property\n    def __name__(cls): raise OSError\n"
        "class Odd(Exception, metaclass=Meta): pass\nraise Odd('here')",
        "Odd: here",
    ),
    "an exception of many megabytes": Fault("raise ValueError('long ' * 1_000_000)", "ValueError: long"),
    "an exception with terminal escapes": Fault("raise ValueError('\\x1b[31mred \\u202eback')", "\\x1b[31mred \\u202e"),
    "another API": Fault("EBMKIT_API = 99" + SQUARE, "plugin API 99"),
    "an API that is no number": Fault(
        "class Odd:\n    def __eq__(self, other): raise OSError\nEBMKIT_API = Odd()" + SQUARE, "an integer is expected"
    ),
    "a package without __init__": Fault(None, "no file"),
    "output": Fault(imported("print('{not json', flush=True)\nimport sys\nprint('x', file=sys.stderr)"), when="never"),
    "output without end": Fault(imported("for _ in range(2_000): print('more and more')"), when="never"),
    "output with terminal escapes": Fault(imported("print('\\x1b]0;title\\x07')"), when="never"),
    "a closed stdout": Fault(imported("import sys\nsys.stdout.close()"), when="never"),
    "another stdout": Fault(imported("import io, sys\nsys.stdout = sys.stderr = io.StringIO()"), when="never"),
    "seeds": Fault(imported("import random\nrandom.seed(0)"), "global random generators", "note"),
    "settings of torch": Fault(
        imported(
            "import torch as t\nt.set_default_dtype(t.float64)\nt.set_num_threads(1)\nt.manual_seed(1)\n"
            "t.use_deterministic_algorithms(True)\nt.set_grad_enabled(False)\nt.set_default_device('meta')"
        ),
        "settings of torch",
        "note",
    ),
    "the precision of products": Fault(
        imported("import torch as t\nt.set_float32_matmul_precision('medium')"), "settings of torch", "note"
    ),
    "a search for anomalies": Fault(
        imported("import torch as t\nt.autograd.set_detect_anomaly(True)"), "settings of torch", "note"
    ),
    "the errors of numpy": Fault(imported("import numpy\nnumpy.seterr(all='raise')"), "settings of numpy", "note"),
    "the number of threads": Fault(
        imported("import os\nos.environ['OMP_NUM_THREADS'] = os.environ['MKL_NUM_THREADS'] = '64'"),
        "environment variables",
        "note",
    ),
    "environment variables": Fault(
        imported("import os\nos.environ['EBMKIT_DISABLE_PLUGINS'] = '1'\nos.environ.pop('PATH', None)"),
        "environment variables",
        "note",
    ),
    "the working directory": Fault(imported("import os\nos.chdir('/')"), "the working directory", "note"),
    "the search path": Fault(imported("import sys\nsys.path[:] = ['/nowhere']"), "the search path", "note"),
    "another search path": Fault(imported("import sys\nsys.path = []"), "the search path", "note"),
    "an import hook": Fault(
        imported("import sys\nclass F:\n    def find_spec(*a): raise OSError\nsys.meta_path.insert(0, F())"),
        "the search path",
        "note",
    ),
    "an exception hook": Fault(imported("import sys\nsys.excepthook = None"), "the hooks of the interpreter", "note"),
    "signal handlers": Fault(
        imported("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)"), "signal handlers", "note"
    ),
    "the locale": Fault(
        imported("import locale\nlocale.setlocale(locale.LC_ALL, 'C')\nlocale.setlocale(locale.LC_CTYPE, 'C.UTF-8')"),
        when="never",
    ),
    "the configuration of logging": Fault(
        imported("import logging\nlogging.basicConfig(level=0)\nlogging.disable(50)"),
        "configuration of logging",
        "note",
    ),
    "warnings as errors": Fault(imported("import warnings\nwarnings.simplefilter('error')"), "filters of", "note"),
    "a handler of logging": Fault(
        imported("import logging\nlogging.basicConfig(filename='/dev/full')\nlogging.getLogger().info('x')"),
        "configuration of logging",
        "note",
    ),
    "the garbage collector": Fault(imported("import gc\ngc.disable()"), "the garbage collector", "note"),
    "the mask of files": Fault(imported("import os\nos.umask(0o777)"), "the mask of new files", "note"),
    "a trace of every line": Fault(
        imported("import sys\nsys.settrace(lambda *event: None)"), "the tracing of Python", "note"
    ),
    "the recursion limit": Fault(imported("import sys\nsys.setrecursionlimit(60)"), "the recursion limit", "note"),
    "a replaced module": Fault(
        imported("import sys\nsys.modules['json'] = None"), "modules, functions or classes", "note"
    ),
    "a replaced function of json": Fault(
        imported("import json\njson.dumps = json.loads = None"), "modules, functions or classes", "note"
    ),
    "a replaced function of ebmkit": Fault(
        imported(
            "import ebmkit.errors.base as b\nb.printable = None\nimport ebmkit.registry.spelling as s\ns.nearest = 1"
        ),
        "modules, functions or classes",
        "note",
    ),
    "a replaced method of a class of ebmkit": Fault(
        SQUARE + "\nBregman.s0 = Bregman.check = lambda self, *a: None", "classes of ebmkit", "note"
    ),
    "a replaced loader of plugins": Fault(
        imported("import ebmkit.registry.loading as l\nl.Plugins.load = l.Plugins.found = None"),
        "classes of ebmkit",
        "note",
    ),
    "a replaced built-in function": Fault(
        SQUARE + "\nimport builtins\nbuiltins.print = builtins.len = builtins.bool = None",
        "functions of Python",
        "note",
    ),
    "os._exit": Fault("import os\nos._exit(0)", "importing it raised SystemExit: it called os._exit(0)"),
    "os._exit in a forked process": Fault(
        imported("import os\nif os.fork() == 0: os._exit(0)\nos.wait()"), when="never"
    ),
    "a replaced function of torch": Fault(
        imported("import torch as t\nt.nn.functional.softplus = lambda x: x"),
        "importing it replaced torch.nn.functional.softplus, which all other components use",
    ),
    "a replaced method of a class of torch": Fault(
        imported("import torch as t\ndef backward(self): pass\nt.Tensor.backward = backward"),
        "importing it replaced torch.Tensor.backward",
    ),
    "a replaced function of the stand-in for torch": Fault(
        SQUARE + "\ntorch.softplus = lambda x: x", "functions of torch", "note"
    ),
    "a question to the user": Fault(imported("input('continue? ')"), "EOFError"),
    "a thread": Fault(
        imported("import threading, time\nthreading.Thread(target=time.sleep, args=(0.2,), daemon=True).start()"),
        when="never",
    ),
    "a thread without end": Fault(
        imported("import threading\nthreading.Thread(target=threading.Event().wait, name='endless').start()"),
        "threads (which cannot be undone)",
        "note",
    ),
    "an import of another plugin": Fault("import module_healthy" + SQUARE, when="never"),
    "a component of another plugin": Fault(
        "from module_healthy import Square as Theirs" + SQUARE.replace('"square"', '"mine"'), when="never", spec=""
    ),
    "a handler at exit that raises": Fault(imported("import atexit\natexit.register(lambda: 1 / 0)"), when="never"),
    "a module __getattr__ that raises": Fault(
        imported("def __getattr__(name): raise RuntimeError(name)"), "not AttributeError"
    ),
    "a module that replaces itself": Fault(
        "import sys\nclass Odd:\n    def __getattr__(self, name): raise RuntimeError(name)\nsys.modules[__name__] = Odd()",
        "must name a module",
    ),
    "a module of a class that raises": Fault(
        "import sys\nfrom types import ModuleType\nclass Odd(ModuleType):\n"
        "    def __getattribute__(self, name): raise RuntimeError(name)\nsys.modules[__name__].__class__ = Odd\n",
        "its own __getattribute__",
    ),
    "names that raise when looked at": Fault(
        imported(
            "class Odd:\n    @property\n    def __class__(self): raise RuntimeError\n"
            "    def __eq__(self, other): raise RuntimeError\n    __bool__ = __hash__ = None\nodd = Odd()"
        ),
        when="never",
    ),
    "a file that it denies": Fault("__file__ = 7" + SQUARE, "its files cannot be read"),
    "a file that is gone": Fault("__file__ = '/nowhere/at/all.py'" + SQUARE, "its files cannot be read"),
}
