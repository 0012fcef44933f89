"""A test that needs nothing but Python. With azure-servicebus it would use the same connection string."""

import base64
import hashlib
import hmac
import json
import os
import time
import unittest
import urllib.parse
import urllib.request

URL = os.environ["DYNABUS_URL"]
PARTS = dict(
    part.split("=", 1)
    for part in os.environ["DYNABUS_CONNECTION_STRING"].split(";")
    if part
)


def token():
    audience = urllib.parse.quote_plus(URL)
    expiry = int(time.time()) + 3600
    key = PARTS["SharedAccessKey"].encode()
    digest = hmac.new(key, f"{audience}\n{expiry}".encode(), hashlib.sha256).digest()
    signature = urllib.parse.quote_plus(base64.b64encode(digest))
    rule = PARTS["SharedAccessKeyName"]
    return f"SharedAccessSignature sr={audience}&sig={signature}&se={expiry}&skn={rule}"


def call(method, path, body=None, content_type="application/json"):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": token(), "Content-Type": content_type}
    request = urllib.request.Request(URL + path, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or "null")


class Orders(unittest.TestCase):
    def test_a_message_is_delivered_again_when_its_lock_runs_out(self):
        call("POST", "/orders/messages", {"order": 1})
        receive = "/orders/messages/head?maxMessages=1&timeout=5"
        self.assertEqual(call("POST", receive)[0]["BrokerProperties"]["DeliveryCount"], 1)

        call("POST", "/$clock", {"advanceSeconds": 61})

        [again] = call("POST", receive)
        self.assertEqual(json.loads(again["Body"]), {"order": 1})
        self.assertEqual(again["BrokerProperties"]["DeliveryCount"], 2)


if __name__ == "__main__":
    unittest.main()
