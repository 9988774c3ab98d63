"""Ways around a check of code, one snippet for each kind; each sets RESULT if it got through.

All are refused by the profile `generated`, and harmless in the sandbox.
"""

from __future__ import annotations

EVASIONS: dict[str, bytes] = {
    "import of a module": b"import os\nRESULT = os.listdir('/')\n",
    "import under another name": b"import subprocess as math\nRESULT = math.PIPE\n",
    "import of a submodule": b"import os.path\nRESULT = os.path.exists('/etc')\n",
    "import in a function": b"def f():\n    import socket\n    return socket\nRESULT = f()\n",
    "import of a C module": b"import _io\nRESULT = _io.FileIO('/etc/passwd').read()\n",
    "import by from": b"from importlib import import_module as go\nRESULT = go('os')\n",
    "import of all names": b"from json import *\nRESULT = loads('1')\n",
    "relative import": b"from . import os\nRESULT = os\n",
    "submodule that is not listed": b"from urllib import request\nRESULT = request.urlopen\n",
    "module in a module": b"import json\nRESULT = json.decoder.scanner.re.enum.sys.modules\n",
    "module as a value": b"import re\nm = re\nRESULT = m.enum.sys\n",
    "module in a list": b"import re\nRESULT = [re][0].enum.sys.modules\n",
    "module as an argument": b"import re\ndef f(x):\n    return x.enum\nRESULT = f(re)\n",
    "module under the name of another": b"import math\nimport re\nmath = re\nRESULT = math.enum\n",
    "change of a module": b"import json\njson.loads = print\nRESULT = 1\n",
    "builtin under another name": b"run = exec\nrun('RESULT = 1')\n",
    "builtin in a container": b"RESULT = {'f': eval}['f']('1+1')\n",
    "builtin as a default": b"def f(x, g=eval):\n    return g(x)\nRESULT = f('1')\n",
    "builtin as a decorator": b"@eval\ndef f():\n    pass\nRESULT = f\n",
    "builtin in a format": b"RESULT = f\"{open('/etc/passwd').read()!r}\"\n",
    "builtin in a comprehension": b"RESULT = [f('1') for f in (eval,)]\n",
    "builtin over the module of builtins": b"import builtins\nRESULT = builtins.eval('1')\n",
    "builtin over a special name": b"RESULT = __builtins__.eval('1')\n",
    "builtin as a special method": b"class A:\n    __getitem__ = eval\nRESULT = A()['1']\n",
    "builtin over globals": b"RESULT = globals()['__builtins__']\n",
    "compiled text": b"RESULT = compile('1', 'x', 'eval')\n",
    "subclasses of object": b"RESULT = ().__class__.__base__.__subclasses__()\n",
    "globals of a function": b"def f():\n    pass\nRESULT = f.__globals__\n",
    "code of a function": b"def f():\n    return 1\nRESULT = f.__code__.co_consts\n",
    "attribute by a made text": b"RESULT = getattr('', '__cla' + 'ss__')\n",
    "attribute by a literal text": b"RESULT = getattr('', '__class__')\n",
    "getattr as a value": b"g = getattr\nRESULT = g('', '__class__')\n",
    "attribute by operator": b"from operator import attrgetter\nRESULT = attrgetter('a')\n",
    "attribute in a format text": b"RESULT = '{0.__class__}'.format(1)\n",
    "format of a made text": b"t = '{0.__cl'\nt += 'ass__}'\nRESULT = t.format(1)\n",
    "format as a value": b"f = '{0.__class__}'.format\nRESULT = f(1)\n",
    "format with a map": b"RESULT = '{a.__class__}'.format_map({'a': 1})\n",
    "attribute in a pattern": (
        b"match 1:\n    case object(__class__=k):\n        RESULT = k.__mro__\n"
    ),
    "frame of a generator": b"g = (x for x in [1])\nRESULT = g.gi_frame.f_builtins\n",
    "frame of a coroutine": b"async def f():\n    pass\nc = f()\nRESULT = c.cr_frame\nc.close()\n",
    "frame of an exception": (
        b"try:\n    1 / 0\nexcept Exception as e:\n    RESULT = e.__traceback__.tb_frame\n"
    ),
    "frame by sys": b"import sys\nRESULT = sys._getframe()\n",
    "frame in __exit__": (
        b"class C:\n    def __enter__(self):\n        pass\n"
        b"    def __exit__(self, kind, value, trace):\n"
        b"        globals()['RESULT'] = trace.tb_frame\n        return True\n"
        b"with C():\n    1 / 0\n"
    ),
    "metaclass": b"class M(type):\n    pass\nclass A(metaclass=M):\n    pass\nRESULT = A\n",
    "hook of a subclass": (
        b"class P:\n    def __init_subclass__(cls):\n        cls.x = 1\n"
        b"class C(P):\n    pass\nRESULT = C.x\n"
    ),
    "hook of an attribute": (
        b"class A:\n    def __getattr__(self, n):\n        return n\nRESULT = A().x\n"
    ),
    "finalizer": b"class A:\n    def __del__(self):\n        print(1)\nA()\nRESULT = 1\n",
    "event loop": (
        b"import asyncio\nasync def f():\n    t = asyncio.create_task(asyncio.sleep(0))\n"
        b"    await t\n    return t.get_loop().subprocess_exec\nRESULT = asyncio.run(f())\n"
    ),
    "private attribute of another": b"import random\nRESULT = random.Random()._randbelow\n",
    "hints that are evaluated": (
        b"from typing import get_type_hints\ndef f(x: '1 + 1'):\n    pass\n"
        b"RESULT = get_type_hints\n"
    ),
    "pickled object": b"import pickle\nRESULT = pickle.loads(b'I1\\n.')\n",
    "native library": b"import ctypes\nRESULT = ctypes.CDLL(None)\n",
    "file by a logger": b"import logging\nRESULT = logging.FileHandler('/tmp/x')\n",
    "file by a path": b"from pathlib import Path\nRESULT = Path('/etc/passwd').exists()\n",
    "wide letters": "RESULT = ｅval('1+1')\n".encode(),
    "letters that look alike": "раss = 1\nRESULT = раss\n".encode(),
    "another encoding": b"# coding: utf-7\nRESULT = 1\n",
    "an encoding in the second line": b"#!python\n# vim: fileencoding=latin-1\nRESULT = 1\n",
    "an encoding after a lone return": b"#\r# coding: utf-16\rRESULT = 1\n",
    "byte order mark": b"\xef\xbb\xbfRESULT = 1\n",
    "not UTF-8": b"RESULT = '\xff'\n",
    "NUL": b"RESULT = 1\n\0\n",
    "deep nesting": b"RESULT = " + b"not " * 5000 + b"1\n",
    "deep brackets": b"RESULT = " + b"[" * 150 + b"]" * 150 + b"\n",
    "long chain": b"RESULT = 1" + b"+1" * 50_000 + b"\n",
    "too long": b"#" * (1 << 20) + b"\nRESULT = 1\n",
    "work beside the class": (
        b"from skillapi import SkillBase\nfor x in (1,):\n    RESULT = x\n"
        b"class A(SkillBase):\n    def definition(self):\n        pass\n"
        b"    def execute(self):\n        pass\n"
    ),
    "two classes": (
        b"from skillapi import SkillBase\nclass A(SkillBase):\n    def definition(self):\n"
        b"        pass\n    def execute(self):\n        pass\nclass B(SkillBase):\n    pass\n"
        b"RESULT = 1\n"
    ),
    "own base class": (
        b"class SkillBase:\n    pass\nclass A(SkillBase):\n    def definition(self):\n"
        b"        pass\n    def execute(self):\n        pass\nRESULT = 1\n"
    ),
    "method defined again": (
        b"from skillapi import SkillBase\nclass A(SkillBase):\n    def definition(self):\n"
        b"        pass\n    def execute(self):\n        pass\n    execute = print\n"
        b"    def execute(self):\n        return 1\nRESULT = 1\n"
    ),
    "structure in a comment": (
        b"# class A(SkillBase): def definition, async def execute\n"
        b"RESULT = (lambda f: f('os'))(__import__)\n"
    ),
}
