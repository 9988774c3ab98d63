"""Gives a skill what it needs inside: modules beside it, urllib over the broker, write folders.

It runs inside the sandbox, before the skill and after it.
"""

import json
import posix
import sys

FOLDER = __file__.rpartition("/modules/")[0]


def prepare():
    """Arrange what `needs.json` of the job names; return the names of the write folders."""
    import os

    with open(FOLDER + "/needs.json", "rb") as file:
        needs = json.load(file)
    sys.path.insert(0, FOLDER)
    os.environ.update(PATH="/usr/bin:/bin", LANG="C.UTF-8")
    if needs["web"]:
        sys.meta_path.insert(0, _WebFinder())
    for name in needs["write"]:
        os.mkdir(f"/tmp/{name}")
    return needs["write"]


def give_back(folders):
    """Return what lies in the write folders, `{"NAME/path": base64}`; links are left out."""
    import base64
    import os

    found = {}
    for name in folders:
        for folder, _, files in os.walk(f"/tmp/{name}"):
            for file in files:
                path = os.path.join(folder, file)
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as content:
                        found[path[5:]] = base64.b64encode(content.read()).decode()
    return found


def send(value):
    """Write the result of the job."""
    line = f"={json.dumps(value)}\n".encode()
    while line:
        line = line[posix.write(3, line) :]


class _WebFinder:
    """Lets `urllib.request`, once it is imported, ask the broker: the sandbox has no network."""

    def find_spec(self, name, path=None, target=None):
        if name != "urllib.request":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            _install(module)

        spec.loader.exec_module = exec_module
        return spec


def _install(web):
    import email.message
    import io
    import urllib.error
    import urllib.response

    import skillapi

    class Handler(web.HTTPSHandler, web.HTTPHandler):
        def https_open(self, asked):
            headers = {**asked.unredirected_hdrs, **asked.headers}
            own = ("host", "connection", "content-length", "user-agent")
            sent = {name: value for name, value in headers.items() if name.lower() not in own}
            try:
                got = skillapi.request(asked.full_url, asked.get_method(), sent, asked.data)
            except skillapi.SkillError as error:
                raise urllib.error.URLError(str(error)) from None
            known = email.message.Message()
            for name, value in got.headers.items():
                known[name] = value
            answer = urllib.response.addinfourl(
                io.BytesIO(got.body), known, asked.full_url, got.status
            )
            answer.msg = ""
            return answer

        http_open = https_open

    web.install_opener(web.build_opener(Handler))
