"""Apache Qpid Proton, an AMQP stack in C, by its blocking client: a name, a key and an address."""

import unittest
import uuid

from namespace import CERTIFICATE, KEY, KEY_NAME, PORT, main, new_queue, new_topic, not_installed

try:
    import proton
except ImportError as missing:
    not_installed(missing)

from proton import (
    Condition,
    ConnectionException,
    Delivery,
    Described,
    Message,
    SSLDomain,
    Timeout,
    symbol,
)
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import Container, Filter, LinkOption
from proton.utils import BlockingConnection, LinkDetached, SendException

SECONDS = 20


def connect(scheme="amqp", user=KEY_NAME, key=KEY):
    options = {}
    if scheme == "amqps":
        options["ssl_domain"] = SSLDomain(SSLDomain.MODE_CLIENT)
        options["ssl_domain"].set_trusted_ca_db(CERTIFICATE)
        options["ssl_domain"].set_peer_authentication(SSLDomain.VERIFY_PEER_NAME)
    return BlockingConnection(
        f"{scheme}://localhost:{PORT}",
        timeout=SECONDS,
        user=user,
        password=key,
        allowed_mechs="PLAIN",
        heartbeat=30,
        **options,
    )


class SettleMode(LinkOption):
    """Receive and delete."""

    def apply(self, link):
        link.snd_settle_mode = proton.Link.SND_SETTLED


class Pipelined(MessagingHandler, TransactionHandler):
    """Sends in a transaction, and discharges it without waiting for the outcomes."""

    def __init__(self, queue, bodies, is_rollback):
        super().__init__()
        self.queue, self.bodies, self.is_rollback = queue, bodies, is_rollback
        self.outcome = None
        self.is_declared = False

    def on_start(self, event):
        url = f"amqp://localhost:{PORT}"
        options = {"user": KEY_NAME, "password": KEY, "allowed_mechs": "PLAIN", "reconnect": False}
        self.connection = event.container.connect(url, **options)
        self.sender = event.container.create_sender(self.connection, self.queue)
        self.timer = event.container.schedule(SECONDS, self)

    def on_sendable(self, event):
        if self.is_declared or event.link != self.sender:
            return
        self.is_declared = True
        event.container.declare_transaction(self.connection, handler=self)

    def on_transaction_declared(self, event):
        for body in self.bodies:
            event.transaction.send(self.sender, Message(body))
        if self.is_rollback:
            event.transaction.abort()
        else:
            event.transaction.commit()

    def on_transaction_committed(self, event):
        self.end("committed")

    def on_transaction_aborted(self, event):
        self.end("aborted")

    def on_transaction_commit_failed(self, event):
        self.end("commit failed")

    def on_transaction_declare_failed(self, event):
        self.end("declare failed")

    def on_timer_task(self, event):
        self.end("no answer")

    def end(self, outcome):
        self.outcome = outcome
        self.timer.cancel()
        self.connection.close()


class Messages(unittest.TestCase):
    def setUp(self):
        self.connection = connect()

    def tearDown(self):
        self.connection.close()

    def open(self, queue, credit=1, **options):
        return self.connection.create_receiver(queue, credit=credit, **options)

    def send(self, queue, *messages):
        sender = self.connection.create_sender(queue)
        for message in messages:
            sender.send(message if isinstance(message, Message) else Message(message))
        sender.close()

    def test_sends_receives_and_accepts(self):
        queue = new_queue()
        self.send(queue, "one", "two")
        receiver = self.open(queue)
        for text in ("one", "two"):
            self.assertEqual(receiver.receive(SECONDS).body, text)
            receiver.accept()
        with self.assertRaises(proton.Timeout):
            receiver.receive(0.3)

    def test_one_name_for_a_sender_and_a_receiver(self):
        queue = new_queue()
        sender = self.connection.create_sender(queue, name="same")
        receiver = self.open(queue, name="same")
        sender.send(Message("through"))
        self.assertEqual(receiver.receive(SECONDS).body, "through")

    def test_addresses_that_are_whole_urls(self):
        queue = new_queue()
        self.send(f"amqps://localhost/{queue}", "by url")
        receiver = self.open(f"amqp://localhost:{PORT}/{queue}")
        self.assertEqual(receiver.receive(SECONDS).body, "by url")

    def test_a_transaction_is_pipelined(self):
        queue = new_queue()
        for bodies, is_rollback, outcome in (["a", "b"], False, "committed"), (["c"], True, "aborted"):
            handler = Pipelined(queue, bodies, is_rollback)
            Container(handler).run()
            self.assertEqual(handler.outcome, outcome)
        receiver = self.open(queue, credit=5)
        self.assertEqual([receiver.receive(SECONDS).body for _ in range(2)], ["a", "b"])
        with self.assertRaises(Timeout):
            receiver.receive(0.2)

    def test_released_comes_again(self):
        queue = new_queue()
        self.send(queue, "again")
        receiver = self.open(queue)
        self.assertEqual(receiver.receive(SECONDS).delivery_count, 0)
        # Released, which counts no delivery; and then modified, which does.
        receiver.release(delivered=False)
        self.assertEqual(receiver.receive(SECONDS).delivery_count, 0)
        receiver.release(delivered=True)
        self.assertEqual(receiver.receive(SECONDS).delivery_count, 1)

    def test_rejected_is_a_dead_letter(self):
        queue = new_queue()
        self.send(queue, "bad")
        receiver = self.open(queue)
        receiver.receive(SECONDS)
        delivery = receiver.fetcher.unsettled[0]
        delivery.local.condition = Condition("shop:sold-out", "No such article.")
        receiver.reject()
        dead = self.open(f"{queue}/$DeadLetterQueue").receive(SECONDS)
        self.assertEqual(dead.body, "bad")
        self.assertEqual(dead.properties["DeadLetterReason"], "shop:sold-out")
        self.assertEqual(dead.properties["DeadLetterErrorDescription"], "No such article.")

    def test_receive_and_delete(self):
        queue = new_queue()
        self.send(queue, "once")
        receiver = self.open(queue, options=SettleMode())
        self.assertEqual(receiver.receive(SECONDS).body, "once")
        with self.assertRaises(proton.Timeout):
            self.open(queue, name="another").receive(0.3)

    def test_a_name_that_is_taken_again(self):
        queue = new_queue()
        first = self.open(queue)
        with self.assertRaises(LinkDetached) as refused:
            self.open(queue)
            first.receive(SECONDS)
        self.assertEqual(refused.exception.condition, "amqp:link:stolen")

    def test_credit_of_many(self):
        queue = new_queue()
        self.send(queue, *[f"m{i}" for i in range(60)])
        receiver = self.open(queue, credit=25)
        for i in range(60):
            self.assertEqual(receiver.receive(SECONDS).body, f"m{i}")
            receiver.accept()

    def test_types_come_back(self):
        queue = new_queue()
        bodies = [
            "text",
            b"\x00\xff",
            True,
            proton.ubyte(200),
            proton.uint(70_000),
            proton.ulong(2**63),
            proton.byte(-1),
            proton.int32(-5),
            -(2**62),
            proton.float32(1.5),
            1.0,
            proton.char("ü"),
            proton.timestamp(1_700_000_000_000),
            uuid.UUID(int=5),
            symbol("a:b"),
            None,
            ["a", [1, None], {"k": proton.uint(1)}],
            {"a": 1, symbol("b"): ["c"]},
            proton.Array(proton.UNDESCRIBED, proton.Data.INT, 1, 2),
            Described(symbol("d:e"), "value"),
            proton.decimal32(5),
            proton.decimal64(6),
        ]
        receiver = self.open(queue, options=SettleMode())
        for body in bodies:
            properties = {"p": body} if not isinstance(body, (list, dict, Described, proton.Array)) else {}
            self.send(queue, Message(body, properties=properties, inferred=False))
            heard = receiver.receive(SECONDS)
            self.assertEqual((type(heard.body), heard.body), (type(body), body))
            self.assertEqual(heard.properties or {}, properties)
            for value in (heard.properties or {}).values():
                self.assertIs(type(value), type(body))

    def test_data_and_sequence_bodies(self):
        queue = new_queue()
        receiver = self.open(queue, options=SettleMode())
        for body in (b"data", ["a", 1]):
            self.send(queue, Message(body, inferred=True))
            heard = receiver.receive(SECONDS)
            self.assertTrue(heard.inferred)
            self.assertEqual(heard.body, body)

    def test_header_and_properties(self):
        queue = new_queue()
        sent = Message(
            "whole",
            id=uuid.UUID(int=7),
            correlation_id=proton.ulong(8),
            subject="matter",
            reply_to="here",
            content_type="text/plain",
            group_id="g",
            durable=True,
            priority=7,
            ttl=60,
            annotations={symbol("mine"): 1},
        )
        self.send(queue, sent)
        heard = self.open(queue).receive(SECONDS)
        for name in ("id", "correlation_id", "subject", "reply_to", "content_type", "group_id"):
            self.assertEqual(getattr(heard, name), getattr(sent, name), name)
        self.assertEqual((heard.durable, heard.priority, heard.ttl), (True, 7, 60))
        self.assertEqual(heard.annotations[symbol("mine")], 1)
        self.assertEqual(heard.annotations[symbol("x-opt-sequence-number")], 1)

    def test_a_message_of_many_frames(self):
        queue = new_queue()
        body = bytes(range(256)) * 800
        self.send(queue, Message(body, inferred=True))
        self.assertEqual(self.open(queue).receive(SECONDS).body, body)

    def test_what_is_too_large_is_refused(self):
        sender = self.connection.create_sender(new_queue())
        with self.assertRaises(SendException) as refused:
            sender.send(Message(b"x" * 300_000, inferred=True))
        self.assertEqual(refused.exception.state, Delivery.REJECTED)
        sender.send(Message("small"))

    def test_a_subscription(self):
        topic = new_topic("one", "two")
        self.send(topic, "news")
        for subscription in ("one", "two"):
            receiver = self.open(f"{topic}/Subscriptions/{subscription}")
            self.assertEqual(receiver.receive(SECONDS).body, "news")

    def test_a_session_by_its_name(self):
        queue = new_queue(RequiresSession="true")
        self.send(queue, Message("a", group_id="A"), Message("b", group_id="B"))
        for session in ("B", "A"):
            options = Filter({symbol("com.microsoft:session-filter"): session})
            receiver = self.open(queue, name=session, options=options)
            self.assertEqual(receiver.receive(SECONDS).group_id, session)

    def test_what_does_not_exist(self):
        for create in (self.connection.create_sender, self.connection.create_receiver):
            with self.assertRaises(LinkDetached) as refused:
                create("nowhere")
            self.assertEqual(refused.exception.condition, "amqp:not-found")
        self.send(new_queue(), "the connection goes on")

    def test_management(self):
        queue = new_queue()
        self.send(queue, "seen")
        receiver = self.open(f"{queue}/$management", name="answers")
        sender = self.connection.create_sender(f"{queue}/$management", name="asks")
        sender.send(
            Message(
                {"from-sequence-number": 0, "message-count": proton.int32(5)},
                id="r1",
                reply_to="answers",
                properties={"operation": "com.microsoft:peek-message"},
                inferred=False,
            )
        )
        answer = receiver.receive(SECONDS)
        self.assertEqual((answer.correlation_id, answer.properties["statusCode"]), ("r1", 200))
        peeked = Message()
        peeked.decode(bytes(answer.body["messages"][0]["message"]))
        self.assertEqual(peeked.body, "seen")


class Connections(unittest.TestCase):
    def test_inside_of_tls(self):
        connection = connect("amqps")
        queue = new_queue()
        connection.create_sender(queue).send(Message("secret"))
        self.assertEqual(connection.create_receiver(queue).receive(SECONDS).body, "secret")
        connection.close()

    def test_a_wrong_key(self):
        with self.assertRaises(ConnectionException):
            connect(key="wrong")

    def test_an_unknown_name(self):
        connection = connect(user="Nobody")
        with self.assertRaises(LinkDetached) as refused:
            connection.create_sender(new_queue())
        self.assertEqual(refused.exception.condition, "amqp:unauthorized-access")
        connection.close()


if __name__ == "__main__":
    main(f"proton {'.'.join(map(str, proton.VERSION))}")
