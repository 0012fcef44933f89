"""The official Python client's ServiceBusAdministrationClient. It knows only https."""

import os
import unittest
from datetime import timedelta

from namespace import CERTIFICATE, CONNECTION_STRING, main, new_name, not_installed

try:
    import azure.servicebus
except ImportError as missing:
    not_installed(missing)

from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.servicebus.management import (
    AccessRights,
    AuthorizationRule,
    CorrelationRuleFilter,
    EntityStatus,
    ServiceBusAdministrationClient,
    SqlRuleAction,
    SqlRuleFilter,
    TrueRuleFilter,
)


# It has no option of its own for whom to trust.
os.environ["REQUESTS_CA_BUNDLE"] = CERTIFICATE


def connect(connection_string=CONNECTION_STRING):
    return ServiceBusAdministrationClient.from_connection_string(connection_string, retry_total=0)


class Administration(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = connect()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def test_the_namespace(self):
        self.assertTrue(self.client.get_namespace_properties().name)

    def test_a_queue_of_defaults(self):
        name = new_name("queue")
        created = self.client.create_queue(name)
        self.assertEqual(created.name, name)
        self.assertEqual(created.lock_duration, timedelta(minutes=1))
        self.assertEqual(created.max_delivery_count, 10)
        self.assertEqual(created.status, EntityStatus.ACTIVE)
        counted = self.client.get_queue_runtime_properties(name)
        self.assertEqual((counted.total_message_count, counted.active_message_count), (0, 0))
        self.client.delete_queue(name)
        with self.assertRaises(ResourceNotFoundError):
            self.client.get_queue(name)

    def test_a_queue_of_settings(self):
        settings = {
            "lock_duration": timedelta(seconds=30),
            "default_message_time_to_live": timedelta(hours=1),
            "max_delivery_count": 3,
            "requires_session": True,
            "requires_duplicate_detection": True,
            "duplicate_detection_history_time_window": timedelta(minutes=5),
            "dead_lettering_on_message_expiration": True,
            "max_size_in_megabytes": 2048,
            "user_metadata": "für mich",
        }
        name = new_name("queue")
        rule = AuthorizationRule(
            type="SharedAccessAuthorizationRule",
            claim_type="SharedAccessKey",
            claim_value="None",
            rights=[AccessRights.SEND],
            key_name="sends",
            primary_key="A" * 43 + "=",
            secondary_key="B" * 43 + "=",
        )
        self.client.create_queue(name, authorization_rules=[rule], **settings)
        queue = self.client.get_queue(name)
        for setting, value in settings.items():
            self.assertEqual(getattr(queue, setting), value, setting)
        self.assertEqual([r.key_name for r in queue.authorization_rules], ["sends"])
        self.assertEqual(queue.authorization_rules[0].rights, [AccessRights.SEND])

    def test_an_update(self):
        name = new_name("queue")
        queue = self.client.create_queue(name)
        queue.max_delivery_count = 5
        queue.status = EntityStatus.SEND_DISABLED
        self.client.update_queue(queue)
        changed = self.client.get_queue(name)
        self.assertEqual((changed.max_delivery_count, changed.status), (5, "SendDisabled"))
        self.client.update_queue(changed, max_delivery_count=6)
        self.assertEqual(self.client.get_queue(name).max_delivery_count, 6)

    def test_lists(self):
        names = sorted(new_name("queue") for _ in range(3))
        for name in names:
            self.client.create_queue(name)
        listed = [queue.name for queue in self.client.list_queues()]
        self.assertEqual([name for name in listed if name in names], names)
        counted = [queue.name for queue in self.client.list_queues_runtime_properties()]
        self.assertEqual(counted, listed)

    def test_a_topic_and_its_subscriptions(self):
        topic = new_name("topic")
        self.client.create_topic(topic, default_message_time_to_live=timedelta(days=1))
        self.assertEqual(
            self.client.get_topic(topic).default_message_time_to_live, timedelta(days=1)
        )
        for name in ("one", "two"):
            self.client.create_subscription(topic, name, lock_duration=timedelta(seconds=10))
        self.assertEqual([s.name for s in self.client.list_subscriptions(topic)], ["one", "two"])
        one = self.client.get_subscription(topic, "one")
        self.assertEqual(one.lock_duration, timedelta(seconds=10))
        self.assertEqual(self.client.get_topic_runtime_properties(topic).subscription_count, 2)
        counted = self.client.get_subscription_runtime_properties(topic, "one")
        self.assertEqual(counted.active_message_count, 0)
        one.max_delivery_count = 4
        self.client.update_subscription(topic, one)
        self.assertEqual(self.client.get_subscription(topic, "one").max_delivery_count, 4)
        self.client.delete_subscription(topic, "two")
        self.assertEqual([s.name for s in self.client.list_subscriptions(topic)], ["one"])
        self.assertIn(topic, [t.name for t in self.client.list_topics()])
        self.client.delete_topic(topic)
        with self.assertRaises(ResourceNotFoundError):
            self.client.get_subscription(topic, "one")

    def test_rules(self):
        topic = new_name("topic")
        self.client.create_topic(topic)
        self.client.create_subscription(topic, "s")
        filters = {
            "sql": SqlRuleFilter("colour = @wanted", parameters={"@wanted": "red"}),
            "correlation": CorrelationRuleFilter(correlation_id="c", properties={"k": "v"}),
            "true": TrueRuleFilter(),
        }
        for name, rule_filter in filters.items():
            action = SqlRuleAction("SET sys.label = 'x'") if name == "sql" else None
            self.client.create_rule(topic, "s", name, filter=rule_filter, action=action)
        rules = {rule.name: rule for rule in self.client.list_rules(topic, "s")}
        self.assertEqual(sorted(rules), sorted([*filters, "$Default"]))
        self.assertEqual(rules["sql"].filter.sql_expression, "colour = @wanted")
        self.assertEqual(rules["sql"].filter.parameters, {"@wanted": "red"})
        self.assertEqual(rules["sql"].action.sql_expression, "SET sys.label = 'x'")
        self.assertEqual(rules["correlation"].filter.properties, {"k": "v"})
        self.assertIsInstance(rules["true"].filter, TrueRuleFilter)
        rule = self.client.get_rule(topic, "s", "sql")
        rule.filter = SqlRuleFilter("colour = 'blue'")
        self.client.update_rule(topic, "s", rule)
        changed = self.client.get_rule(topic, "s", "sql")
        self.assertEqual(changed.filter.sql_expression, "colour = 'blue'")
        self.client.delete_rule(topic, "s", "sql")
        with self.assertRaises(ResourceNotFoundError):
            self.client.get_rule(topic, "s", "sql")

    def test_forwarding(self):
        queue, target = new_name("queue"), new_name("target")
        self.client.create_queue(target)
        self.client.create_queue(queue, forward_to=target)
        forwards_to = self.client.get_queue(queue).forward_to
        self.assertTrue(forwards_to.endswith(f"/{target}"), forwards_to)

    def test_refusals(self):
        name = new_name("queue")
        self.client.create_queue(name)
        with self.assertRaises(ResourceExistsError):
            self.client.create_queue(name)
        with self.assertRaises(ResourceNotFoundError):
            self.client.delete_queue("nowhere")
        with self.assertRaises(HttpResponseError) as refused:
            self.client.create_queue(new_name("queue"), lock_duration=timedelta(minutes=6))
        self.assertEqual(refused.exception.status_code, 400)
        wrong = connect(CONNECTION_STRING.replace("SharedAccessKey=", "SharedAccessKey=x"))
        with self.assertRaises(ClientAuthenticationError):
            wrong.get_queue(name)
        wrong.close()


if __name__ == "__main__":
    main(f"azure-servicebus {azure.servicebus.__version__}")
