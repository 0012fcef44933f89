"""What the scripts share: the namespace they are started against, and how they tell the outcome."""

import base64
import hashlib
import hmac
import json
import os
import re
import sys
import time
import unittest
import urllib.parse
import urllib.request

PORT = int(os.environ["DYNABUS_PORT"])
CONNECTION_STRING = os.environ["DYNABUS_CONNECTION_STRING"]
CERTIFICATE = os.environ["DYNABUS_CERTIFICATE"]
KEY_NAME = "RootManageSharedAccessKey"
KEY = re.search("SharedAccessKey=([^;]+)", CONNECTION_STRING)[1]
ORIGIN = f"http://localhost:{PORT}"

NOT_INSTALLED = 77
ATOM = "http://www.w3.org/2005/Atom"
DESCRIPTION = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"

_names = 0


def not_installed(error):
    """Ends a script whose stack is not on this machine."""
    print(f"  {error}", file=sys.stderr)
    sys.exit(NOT_INSTALLED)


def new_name(kind):
    """A name that no other test has."""
    global _names
    _names += 1
    script = os.path.basename(sys.argv[0]).split(".")[0]
    return f"{kind}-{script}-{_names}"


def token(key_name=KEY_NAME, key=KEY):
    """A shared access signature for the whole namespace."""
    audience = urllib.parse.quote(ORIGIN, safe="")
    expiry = int(time.time()) + 3600
    digest = hmac.new(key.encode(), f"{audience}\n{expiry}".encode(), hashlib.sha256).digest()
    signature = urllib.parse.quote(base64.b64encode(digest), safe="")
    return f"SharedAccessSignature sr={audience}&sig={signature}&se={expiry}&skn={key_name}"


def request(method, path, body=None):
    """Asks over HTTP; returns status and text."""
    asked = urllib.request.Request(
        f"{ORIGIN}/{path}",
        method=method,
        data=None if body is None else body.encode(),
        headers={"Authorization": token(), "Content-Type": "application/xml"},
    )
    with urllib.request.urlopen(asked) as answer:
        return answer.status, answer.read().decode()


def _create(path, description, **settings):
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in settings.items())
    request(
        "PUT",
        path,
        f'<entry xmlns="{ATOM}"><content type="application/xml">'
        f'<{description} xmlns="{DESCRIPTION}">{inner}</{description}></content></entry>',
    )


def new_queue(**settings):
    """Creates a queue; settings have their names of the wire, in the order of the wire."""
    name = new_name("queue")
    _create(name, "QueueDescription", **settings)
    return name


def new_topic(*subscriptions):
    """Creates a topic with subscriptions that get everything."""
    name = new_name("topic")
    _create(name, "TopicDescription")
    for subscription in subscriptions:
        _create(f"{name}/subscriptions/{subscription}", "SubscriptionDescription")
    return name


def main(what):
    """Runs the tests of a script; its last line tells the runner how they went."""
    result = unittest.main(exit=False, verbosity=1).result
    failed = len(result.failures) + len(result.errors)
    tally = {"what": what, "ran": result.testsRun, "failed": failed, "skipped": len(result.skipped)}
    print(json.dumps(tally))
    sys.stdout.flush()
    # Threads that a client left behind must not keep the script.
    os._exit(1 if failed else 0)
