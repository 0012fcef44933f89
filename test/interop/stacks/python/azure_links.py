"""The official Python client, its links, over every way it can connect: plain, TLS and WebSocket by its
own AMQP, and by uamqp (in C), which older versions stand on, and which takes a WebSocket here."""

import asyncio
import importlib.util
import unittest

from namespace import (
    CERTIFICATE,
    CONNECTION_STRING,
    PORT,
    main,
    new_queue,
    new_topic,
    not_installed,
)

try:
    import azure.servicebus
except ImportError as missing:
    not_installed(missing)

from azure.servicebus import (
    NEXT_AVAILABLE_SESSION,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusReceiveMode,
    ServiceBusSubQueue,
    TransportType,
)
from azure.servicebus import exceptions as errors

WAIT = 20
SHORT = 1
# The port is told apart.
WITHOUT_FLAG = CONNECTION_STRING.replace("UseDevelopmentEmulator=true;", "").replace(f":{PORT};", ";")
OVER_TLS = {
    "custom_endpoint_address": f"sb://localhost:{PORT}",
    "connection_verify": CERTIFICATE,
}


# Versions before 7.9 speak by uamqp only; later ones want a uamqp of their time.
HAS_ITS_OWN = importlib.util.find_spec("azure.servicebus._pyamqp") is not None
UAMQP_FROM = (1, 6, 3)


def is_installed(package):
    return importlib.util.find_spec(package) is not None


def has_uamqp():
    if not is_installed("uamqp"):
        return False
    import uamqp

    return not HAS_ITS_OWN or tuple(map(int, uamqp.__version__.split("."))) >= UAMQP_FROM


class Links:
    """The tests of each transport."""

    connection_string = CONNECTION_STRING
    options = {}
    # What a token that was refused becomes, for a missing entity, too: so in its own tests.
    refusal = errors.ServiceBusAuthenticationError

    def setUp(self):
        self.client = self.connect()

    def tearDown(self):
        self.client.close()

    def connect(self, connection_string=None):
        return ServiceBusClient.from_connection_string(
            connection_string or self.connection_string, retry_total=0, **self.options
        )

    def send(self, queue, *messages):
        with self.client.get_queue_sender(queue) as sender:
            sender.send_messages([ServiceBusMessage(message) for message in messages])

    def receive(self, receiver, count=1):
        messages = []
        while len(messages) < count:
            more = receiver.receive_messages(count - len(messages), max_wait_time=WAIT)
            self.assertTrue(more, "no message came")
            messages += more
        return messages

    def texts(self, messages):
        return [str(message) for message in messages]

    def test_send_and_complete(self):
        queue = new_queue()
        self.send(queue, "one", "two")
        with self.client.get_queue_receiver(queue) as receiver:
            messages = self.receive(receiver, 2)
            self.assertEqual(self.texts(messages), ["one", "two"])
            for message in messages:
                receiver.complete_message(message)
            self.assertEqual(receiver.receive_messages(1, max_wait_time=SHORT), [])

    def test_one_message_and_a_batch(self):
        queue = new_queue()
        with self.client.get_queue_sender(queue) as sender:
            sender.send_messages(ServiceBusMessage("single"))
            batch = sender.create_message_batch()
            for i in range(50):
                batch.add_message(ServiceBusMessage(f"b{i}"))
            sender.send_messages(batch)
        with self.client.get_queue_receiver(queue) as receiver:
            messages = self.receive(receiver, 51)
            self.assertEqual(self.texts(messages), ["single", *[f"b{i}" for i in range(50)]])

    def test_abandon_counts(self):
        queue = new_queue()
        self.send(queue, "again")
        with self.client.get_queue_receiver(queue) as receiver:
            for tries in range(3):
                [message] = self.receive(receiver)
                self.assertEqual(message.delivery_count, tries)
                receiver.abandon_message(message)

    def test_dead_letter(self):
        queue = new_queue()
        self.send(queue, "bad")
        with self.client.get_queue_receiver(queue) as receiver:
            [message] = self.receive(receiver)
            receiver.dead_letter_message(message, reason="why", error_description="how")
        dead_letters = self.client.get_queue_receiver(queue, sub_queue=ServiceBusSubQueue.DEAD_LETTER)
        with dead_letters:
            [message] = self.receive(dead_letters)
            self.assertEqual(message.dead_letter_reason, "why")
            self.assertEqual(message.dead_letter_error_description, "how")
            dead_letters.complete_message(message)

    def test_receive_and_delete(self):
        queue = new_queue()
        self.send(queue, "once", "twice")
        mode = ServiceBusReceiveMode.RECEIVE_AND_DELETE
        with self.client.get_queue_receiver(queue, receive_mode=mode) as receiver:
            self.assertEqual(self.texts(self.receive(receiver, 2)), ["once", "twice"])
        with self.client.get_queue_receiver(queue) as receiver:
            self.assertEqual(receiver.receive_messages(1, max_wait_time=SHORT), [])

    def test_the_iterator(self):
        queue = new_queue()
        self.send(queue, "a", "b", "c")
        seen = []
        with self.client.get_queue_receiver(queue, max_wait_time=2) as receiver:
            for message in receiver:
                seen.append(str(message))
                receiver.complete_message(message)
        self.assertEqual(seen, ["a", "b", "c"])

    def test_prefetch(self):
        queue = new_queue()
        self.send(queue, *[f"m{i}" for i in range(30)])
        with self.client.get_queue_receiver(queue, prefetch_count=20) as receiver:
            for message in self.receive(receiver, 30):
                receiver.complete_message(message)

    def test_sessions(self):
        queue = new_queue(RequiresSession="true")
        with self.client.get_queue_sender(queue) as sender:
            for session in ("A", "B"):
                sender.send_messages(ServiceBusMessage(session, session_id=session))
        with self.client.get_queue_receiver(queue, session_id="B") as named:
            [message] = self.receive(named)
            self.assertEqual((str(message), message.session_id), ("B", "B"))
            named.complete_message(message)
            following = self.client.get_queue_receiver(queue, session_id=NEXT_AVAILABLE_SESSION)
            with following:
                self.assertEqual(following.session.session_id, "A")
                [message] = self.receive(following)
                following.complete_message(message)

    def test_a_topic(self):
        topic = new_topic("one", "two")
        with self.client.get_topic_sender(topic) as sender:
            sender.send_messages(ServiceBusMessage("news", application_properties={"n": 1}))
        for subscription in ("one", "two"):
            with self.client.get_subscription_receiver(topic, subscription) as receiver:
                [message] = self.receive(receiver)
                self.assertEqual(str(message), "news")
                receiver.complete_message(message)

    def test_a_large_message(self):
        queue = new_queue()
        body = bytes(range(256)) * 800
        self.send(queue, body)
        with self.client.get_queue_receiver(queue) as receiver:
            [message] = self.receive(receiver)
            self.assertEqual(b"".join(message.body), body)

    def test_what_is_too_large(self):
        with self.client.get_queue_sender(new_queue()) as sender:
            with self.assertRaises(errors.MessageSizeExceededError):
                sender.send_messages(ServiceBusMessage(b"x" * 300_000))
            sender.send_messages(ServiceBusMessage("small"))

    def test_what_does_not_exist(self):
        with self.assertRaises(self.refusal):
            with self.client.get_queue_sender("nowhere") as sender:
                sender.send_messages(ServiceBusMessage("lost"))
        with self.assertRaises(self.refusal):
            with self.client.get_queue_receiver("nowhere") as receiver:
                receiver.receive_messages(1, max_wait_time=SHORT)

    def test_a_wrong_key(self):
        wrong = self.connect(self.connection_string.replace("SharedAccessKey=", "SharedAccessKey=x"))
        with self.assertRaises(self.refusal):
            with wrong.get_queue_sender(new_queue()) as sender:
                sender.send_messages(ServiceBusMessage("lost"))


@unittest.skipUnless(HAS_ITS_OWN, "this version has no AMQP of its own")
class Plain(Links, unittest.TestCase):
    def test_asyncio(self):
        from azure.servicebus.aio import ServiceBusClient as AsyncClient

        async def through():
            queue = new_queue()
            async with AsyncClient.from_connection_string(CONNECTION_STRING) as client:
                async with client.get_queue_sender(queue) as sender:
                    await sender.send_messages(ServiceBusMessage("async"))
                async with client.get_queue_receiver(queue) as receiver:
                    [message] = await receiver.receive_messages(1, max_wait_time=WAIT)
                    await receiver.renew_message_lock(message)
                    await receiver.complete_message(message)
                    return str(message)

        self.assertEqual(asyncio.run(through()), "async")


class OverTls(Links):
    connection_string = WITHOUT_FLAG
    options = OVER_TLS
    # With an address of one's own it looks as if that were wrong.
    refusal = errors.ServiceBusConnectionError


@unittest.skipUnless(HAS_ITS_OWN, "this version has no AMQP of its own")
class Tls(OverTls, unittest.TestCase):
    pass


@unittest.skipUnless(HAS_ITS_OWN and is_installed("websocket"), "no websocket-client for it")
class WebSocket(OverTls, unittest.TestCase):
    options = {**OVER_TLS, "transport_type": TransportType.AmqpOverWebsocket}


@unittest.skipUnless(has_uamqp(), "no uamqp for it")
class Uamqp(OverTls, unittest.TestCase):
    options = {**OVER_TLS, "uamqp_transport": True} if HAS_ITS_OWN else OVER_TLS
    refusal = errors.ServiceBusAuthenticationError


if __name__ == "__main__":
    main(f"azure-servicebus {azure.servicebus.__version__}")
