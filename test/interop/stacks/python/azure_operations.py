"""The official Python client: what goes through $management, sessions, kinds of bodies, and its errors."""

import time
import unittest
import uuid
from datetime import datetime, timedelta, timezone

from namespace import CONNECTION_STRING, main, new_queue, new_topic, not_installed, request

try:
    import azure.servicebus
except ImportError as missing:
    not_installed(missing)

from azure.servicebus import (
    NEXT_AVAILABLE_SESSION,
    AutoLockRenewer,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusMessageState,
    ServiceBusReceiveMode,
    ServiceBusSubQueue,
)
from azure.servicebus import exceptions as errors
from azure.servicebus.amqp import AmqpAnnotatedMessage, AmqpMessageBodyType

WAIT = 20
SHORT = 1


def now():
    return datetime.now(timezone.utc)


class Operations(unittest.TestCase):
    def setUp(self):
        self.client = ServiceBusClient.from_connection_string(CONNECTION_STRING, retry_total=0)

    def tearDown(self):
        self.client.close()

    def queue_with(self, *messages, **settings):
        queue = new_queue(**settings)
        with self.client.get_queue_sender(queue) as sender:
            for message in messages:
                if isinstance(message, str):
                    message = ServiceBusMessage(message)
                sender.send_messages(message)
        return queue

    def open(self, queue, **options):
        receiver = self.client.get_queue_receiver(queue, **options)
        self.addCleanup(receiver.close)
        return receiver

    def one(self, receiver):
        messages = receiver.receive_messages(1, max_wait_time=WAIT)
        self.assertEqual(len(messages), 1)
        return messages[0]

    def none(self, receiver):
        self.assertEqual(receiver.receive_messages(1, max_wait_time=SHORT), [])

    def test_peek(self):
        queue = self.queue_with("a", "b", "c")
        receiver = self.open(queue)
        self.assertEqual([str(m) for m in receiver.peek_messages(2)], ["a", "b"])
        later = receiver.peek_messages(5, sequence_number=2)
        self.assertEqual([(m.sequence_number, str(m)) for m in later], [(2, "b"), (3, "c")])
        self.assertEqual(receiver.peek_messages(5, sequence_number=9), [])
        self.assertEqual(later[0].state, ServiceBusMessageState.ACTIVE)

    def test_renew_a_lock(self):
        receiver = self.open(self.queue_with("held", LockDuration="PT30S"))
        message = self.one(receiver)
        before = message.locked_until_utc
        after = receiver.renew_message_lock(message)
        self.assertGreater(after, before)
        self.assertEqual(message.locked_until_utc, after)
        receiver.complete_message(message)

    def test_the_lock_renewer(self):
        receiver = self.open(self.queue_with("held", LockDuration="PT5S"))
        message = self.one(receiver)
        before = message.locked_until_utc
        with AutoLockRenewer(max_lock_renewal_duration=60) as renewer:
            renewer.register(receiver, message)
            until = time.monotonic() + WAIT
            while message.locked_until_utc == before and time.monotonic() < until:
                time.sleep(0.05)
        self.assertGreater(message.locked_until_utc, before)
        receiver.complete_message(message)

    def test_defer_and_receive_by_number(self):
        receiver = self.open(self.queue_with("later", "gone"))
        numbers = []
        for _ in range(2):
            message = self.one(receiver)
            numbers.append(message.sequence_number)
            receiver.defer_message(message)
        self.none(receiver)
        [later] = receiver.receive_deferred_messages(numbers[0])
        self.assertEqual(str(later), "later")
        receiver.renew_message_lock(later)
        receiver.abandon_message(later)
        first, second = receiver.receive_deferred_messages(numbers)
        receiver.complete_message(first)
        receiver.dead_letter_message(second, reason="why")
        with self.assertRaises(errors.MessageNotFoundError):
            receiver.receive_deferred_messages(numbers)
        dead = self.one(self.open_dead_letters(receiver))
        self.assertEqual((str(dead), dead.dead_letter_reason), ("gone", "why"))

    def open_dead_letters(self, receiver):
        return self.open(receiver.entity_path, sub_queue=ServiceBusSubQueue.DEAD_LETTER)

    def test_deferred_and_deleted(self):
        queue = self.queue_with("later")
        receiver = self.open(queue)
        message = self.one(receiver)
        receiver.defer_message(message)
        deleting = self.open(queue, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
        [later] = deleting.receive_deferred_messages([message.sequence_number])
        self.assertEqual(str(later), "later")
        self.assertEqual(receiver.peek_messages(1), [])

    def test_schedule_and_cancel(self):
        queue = self.queue_with()
        receiver = self.open(queue)
        with self.client.get_queue_sender(queue) as sender:
            soon = sender.schedule_messages(ServiceBusMessage("soon"), now() + timedelta(seconds=1))
            never = sender.schedule_messages(
                [ServiceBusMessage("x"), ServiceBusMessage("y")], now() + timedelta(hours=1)
            )
            self.assertEqual(len(never), 2)
            seen = receiver.peek_messages(5)
            self.assertEqual([m.state for m in seen], [ServiceBusMessageState.SCHEDULED] * 3)
            self.assertGreater(seen[1].scheduled_enqueue_time_utc, now())
            sender.cancel_scheduled_messages(never)
            with self.assertRaises(errors.MessageNotFoundError):
                sender.cancel_scheduled_messages(never)
        message = self.one(receiver)
        self.assertEqual((str(message), message.sequence_number > soon[0]), ("soon", True))
        receiver.complete_message(message)

    def test_a_message_that_says_when(self):
        late = ServiceBusMessage("late", scheduled_enqueue_time_utc=now() + timedelta(seconds=1))
        self.assertEqual(str(self.one(self.open(self.queue_with(late)))), "late")

    def test_everything_a_message_has(self):
        sent = ServiceBusMessage(
            "whole",
            message_id="id",
            correlation_id="c",
            subject="s",
            to="t",
            reply_to="r",
            reply_to_session_id="rs",
            content_type="text/plain",
            partition_key="p",
            time_to_live=timedelta(minutes=5),
            application_properties={
                "text": "ü",
                "int": 5,
                "float": 1.5,
                "bool": True,
                "uuid": uuid.UUID(int=3),
                "time": datetime(2026, 1, 2, tzinfo=timezone.utc),
                "none": None,
            },
        )
        heard = self.one(self.open(self.queue_with(sent)))
        for name in ("message_id", "correlation_id", "subject", "to", "reply_to", "content_type"):
            self.assertEqual(getattr(heard, name), getattr(sent, name), name)
        for name in ("reply_to_session_id", "partition_key", "time_to_live"):
            self.assertEqual(getattr(heard, name), getattr(sent, name), name)
        properties = {key.decode(): value for key, value in heard.application_properties.items()}
        self.assertEqual(properties["text"], "ü".encode())
        for name in ("int", "float", "bool", "uuid", "none"):
            self.assertEqual(properties[name], sent.application_properties[name], name)
        self.assertEqual(properties["time"], 1_767_312_000_000)
        self.assertEqual(heard.sequence_number, 1)
        self.assertLess(abs(heard.enqueued_time_utc - now()), timedelta(minutes=1))
        self.assertEqual(heard.expires_at_utc, heard.enqueued_time_utc + sent.time_to_live)

    def test_kinds_of_bodies(self):
        queue = new_queue()
        kinds = {
            AmqpMessageBodyType.VALUE: {"value_body": {b"k": [1, b"x", None]}},
            AmqpMessageBodyType.SEQUENCE: {"sequence_body": [[1, b"a"], [2]]},
            AmqpMessageBodyType.DATA: {"data_body": [b"one", b"two"]},
        }
        receiver = self.open(queue)
        with self.client.get_queue_sender(queue) as sender:
            for kind, [(_, body)] in ((kind, body.items()) for kind, body in kinds.items()):
                sender.send_messages(AmqpAnnotatedMessage(**kinds[kind]))
                heard = self.one(receiver)
                self.assertEqual(heard.body_type, kind)
                read = heard.body if kind == AmqpMessageBodyType.VALUE else list(heard.body)
                self.assertEqual(read, body)
                receiver.complete_message(heard)

    def test_a_batch_and_its_limit(self):
        queue = new_queue()
        with self.client.get_queue_sender(queue) as sender:
            batch = sender.create_message_batch()
            self.assertEqual(batch.max_size_in_bytes, 256 * 1024)
            with self.assertRaises(errors.MessageSizeExceededError):
                while True:
                    batch.add_message(ServiceBusMessage("x" * 10_000))
            sender.send_messages(batch)
        receiver = self.open(queue, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
        for _ in range(len(batch)):
            self.one(receiver)
        self.none(receiver)

    def test_settled_twice(self):
        receiver = self.open(self.queue_with("one"))
        message = self.one(receiver)
        receiver.complete_message(message)
        with self.assertRaises(errors.MessageAlreadySettled):
            receiver.complete_message(message)

    def test_a_lock_that_was_lost(self):
        queue = self.queue_with("one")
        receiver = self.open(queue)
        message = self.one(receiver)
        # Somebody else completes it, over HTTP.
        request("DELETE", f"{queue}/messages/{message.sequence_number}/{message.lock_token}")
        with self.assertRaises(errors.MessageLockLostError):
            receiver.renew_message_lock(message)
        # Settling on a link is not waited for by this client, so it says nothing here.
        receiver.complete_message(message)

    def test_a_disabled_queue(self):
        queue = new_queue(Status="SendDisabled")
        with self.assertRaises(errors.MessagingEntityDisabledError):
            with self.client.get_queue_sender(queue) as sender:
                sender.send_messages(ServiceBusMessage("refused"))

    def test_state_and_lock_of_a_session(self):
        message = ServiceBusMessage("a", session_id="A")
        queue = self.queue_with(message, RequiresSession="true")
        receiver = self.open(queue, session_id="A")
        session = receiver.session
        self.assertIsNone(session.get_state())
        session.set_state(b"\x01\x02")
        self.assertEqual(session.get_state(), b"\x01\x02")
        before = session.locked_until_utc
        self.assertGreater(session.renew_lock(), before)
        held = self.one(receiver)
        receiver.defer_message(held)
        [deferred] = receiver.receive_deferred_messages(held.sequence_number)
        receiver.complete_message(deferred)
        self.assertEqual(receiver.peek_messages(1), [])
        session.set_state(None)
        self.assertIsNone(session.get_state())

    def test_sessions_that_cannot_be_had(self):
        queue = self.queue_with(ServiceBusMessage("a", session_id="A"), RequiresSession="true")
        self.one(self.open(queue, session_id="A"))
        with self.assertRaises(errors.SessionCannotBeLockedError):
            self.one(self.open(queue, session_id="A"))
        with self.assertRaises(errors.OperationTimeoutError):
            self.one(self.open(queue, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=2))
        with self.assertRaises(errors.ServiceBusError):
            self.one(self.open(queue))
        with self.assertRaises(errors.ServiceBusError):
            self.queue_with("no session", RequiresSession="true")

    def test_a_session_that_was_lost(self):
        queue = self.queue_with(
            ServiceBusMessage("a", session_id="A"), RequiresSession="true", LockDuration="PT5S"
        )
        receiver = self.open(queue, session_id="A")
        message = self.one(receiver)
        time.sleep(6)
        with self.assertRaises(errors.SessionLockLostError):
            receiver.complete_message(message)

    def test_duplicates(self):
        twice = [ServiceBusMessage("same", message_id="m") for _ in range(2)]
        queue = self.queue_with(*twice, RequiresDuplicateDetection="true")
        self.assertEqual(len(self.open(queue).peek_messages(5)), 1)

    def test_a_subscription(self):
        topic = new_topic("s")
        with self.client.get_topic_sender(topic) as sender:
            sender.send_messages(ServiceBusMessage("now"))
            numbers = sender.schedule_messages(ServiceBusMessage("x"), now() + timedelta(hours=1))
            sender.cancel_scheduled_messages(numbers)
        with self.client.get_subscription_receiver(topic, "s") as receiver:
            message = self.one(receiver)
            receiver.renew_message_lock(message)
            receiver.dead_letter_message(message)
            dead = self.client.get_subscription_receiver(
                topic, "s", sub_queue=ServiceBusSubQueue.DEAD_LETTER
            )
            self.addCleanup(dead.close)
            self.assertEqual(str(self.one(dead)), "now")


if __name__ == "__main__":
    main(f"azure-servicebus {azure.servicebus.__version__}")
