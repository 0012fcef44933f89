using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Topics;

internal sealed class RuleChecks(Bus bus)
{
    [Check("a new subscription has the rule $Default, which is true")]
    public async Task DefaultRule()
    {
        var (topic, subscription) = await NewSubscription();
        await using var manager = bus.Client.CreateRuleManager(topic, subscription);
        var rules = await Rules(manager);
        Expect.Equal("$Default", rules.Single().Name);
        Expect.True(rules.Single().Filter is TrueRuleFilter);
    }

    [Check("a rule manager creates rules of every kind, and reads them as they were created")]
    public async Task EveryKind()
    {
        var (topic, subscription) = await NewSubscription();
        await using var manager = bus.Client.CreateRuleManager(topic, subscription);
        var sql = new SqlRuleFilter("colour = 'red' AND weight > 5");
        var correlation = new CorrelationRuleFilter
        {
            CorrelationId = "c", MessageId = "m", To = "t", ReplyTo = "r", Subject = "s", SessionId = "i",
            ReplyToSessionId = "ri", ContentType = "text/plain",
        };
        correlation.ApplicationProperties["kind"] = "letter";
        correlation.ApplicationProperties["count"] = 3L;
        var action = new SqlRuleAction("SET priority = 'high'");
        await manager.CreateRuleAsync(new CreateRuleOptions("a-sql", sql) { Action = action });
        await manager.CreateRuleAsync("b-correlation", correlation);
        await manager.CreateRuleAsync("c-false", new FalseRuleFilter());
        await manager.CreateRuleAsync("d-true", new TrueRuleFilter());
        var rules = (await Rules(manager)).ToDictionary(rule => rule.Name);
        Expect.Sequence(["$Default", "a-sql", "b-correlation", "c-false", "d-true"], rules.Keys.Order(StringComparer.Ordinal));
        Expect.Equal<RuleFilter>(sql, rules["a-sql"].Filter);
        Expect.Equal<RuleAction>(action, rules["a-sql"].Action);
        Expect.Equal<RuleFilter>(correlation, rules["b-correlation"].Filter);
        // The client itself writes these two as SQL.
        Expect.Equal("1=0 1=1", $"{SqlOf(rules["c-false"])} {SqlOf(rules["d-true"])}");
    }

    [Check("a rule that is there already: MessagingEntityAlreadyExists; one that is not: MessagingEntityNotFound")]
    public async Task TwiceAndMissing()
    {
        var (topic, subscription) = await NewSubscription();
        await using var manager = bus.Client.CreateRuleManager(topic, subscription);
        await manager.CreateRuleAsync("one", new TrueRuleFilter());
        await Refused(
            ServiceBusFailureReason.MessagingEntityAlreadyExists,
            () => manager.CreateRuleAsync("one", new FalseRuleFilter()));
        await manager.DeleteRuleAsync("one");
        await Refused(ServiceBusFailureReason.MessagingEntityNotFound, () => manager.DeleteRuleAsync("one"));
    }

    [Check("a filter that cannot be read is refused by the rule manager and by administration")]
    public async Task Unreadable()
    {
        var (topic, subscription) = await NewSubscription();
        await using var manager = bus.Client.CreateRuleManager(topic, subscription);
        var broken = new SqlRuleFilter("colour = = 'red'");
        await Expect.Throws<ArgumentException>(() => manager.CreateRuleAsync("broken", broken));
        await Expect.Throws<ArgumentException>(
            () => bus.Administration.CreateRuleAsync(topic, subscription, new CreateRuleOptions("broken", broken)));
        Expect.Equal("$Default", (await Rules(manager)).Single().Name);
    }

    [Check("SQL filters with parameters, LIKE, IN, EXISTS and IS NULL choose what a subscription gets")]
    public async Task SqlFilters()
    {
        var topic = await bus.NewTopic();
        var like = await Filtered(topic, new SqlRuleFilter("name LIKE 'a%' AND sys.Label IN ('x', 'y')"));
        var exists = await Filtered(topic, new SqlRuleFilter("EXISTS(size) AND size + 1 > 2.5"));
        var missing = await Filtered(topic, new SqlRuleFilter("size IS NULL"));
        var since = new SqlRuleFilter("at >= @since");
        since.Parameters["@since"] = new DateTime(2026, 1, 1, 0, 0, 0, DateTimeKind.Utc);
        var recent = await Filtered(topic, since);
        await using var sender = bus.Client.CreateSender(topic);
        await sender.SendMessagesAsync(
        [
            Message("1", "x", ("name", "apple")),
            Message("2", "z", ("name", "apple"), ("size", 2)),
            Message("3", "y", ("name", "pear"), ("at", new DateTime(2026, 2, 1, 0, 0, 0, DateTimeKind.Utc))),
            Message("4", "y", ("size", 1.0), ("at", new DateTime(2025, 2, 1, 0, 0, 0, DateTimeKind.Utc))),
        ]);
        await ExpectOnly(topic, like, "1");
        await ExpectOnly(topic, exists, "2");
        await ExpectOnly(topic, missing, "1", "3");
        await ExpectOnly(topic, recent, "3");
    }

    [Check("a correlation filter chooses by properties of the message and of the application")]
    public async Task CorrelationFilters()
    {
        var topic = await bus.NewTopic();
        var subject = await Filtered(topic, new CorrelationRuleFilter { Subject = "order" });
        var both = new CorrelationRuleFilter { CorrelationId = "c1" };
        both.ApplicationProperties["country"] = "DE";
        var precise = await Filtered(topic, both);
        await using var sender = bus.Client.CreateSender(topic);
        var exact = Message("3", "letter", ("country", "DE"));
        exact.CorrelationId = "c1";
        await sender.SendMessagesAsync([Message("1", "order"), Message("2", "Order", ("country", "DE")), exact]);
        await ExpectOnly(topic, subject, "1");
        await ExpectOnly(topic, precise, "3");
    }

    [Check("an action changes the copy of its subscription, which names the rule; other subscriptions get the original")]
    public async Task Actions()
    {
        var topic = await bus.NewTopic();
        var changed = await bus.NewSubscription(topic);
        var plain = await bus.NewSubscription(topic);
        await using var manager = bus.Client.CreateRuleManager(topic, changed);
        await manager.DeleteRuleAsync("$Default");
        await manager.CreateRuleAsync(new CreateRuleOptions("raise", new SqlRuleFilter("price < 10"))
        {
            Action = new SqlRuleAction("SET price = price * 2; SET sys.Label = 'changed'; REMOVE secret"),
        });
        await using var sender = bus.Client.CreateSender(topic);
        await sender.SendMessageAsync(Message("1", "plain", ("price", 4), ("secret", "x")));
        await using var receiver = bus.Client.CreateReceiver(topic, changed);
        var copy = await receiver.ReceiveOne();
        Expect.Equal("8 changed raise", $"{copy.ApplicationProperties["price"]} {copy.Subject} {copy.ApplicationProperties["RuleName"]}");
        Expect.True(!copy.ApplicationProperties.ContainsKey("secret"));
        await using var other = bus.Client.CreateReceiver(topic, plain);
        var original = await other.ReceiveOne();
        Expect.Equal("4 plain x", $"{original.ApplicationProperties["price"]} {original.Subject} {original.ApplicationProperties["secret"]}");
    }

    [Check("a subscription without rules gets nothing, and a rule counts for what is sent after it")]
    public async Task WithoutRules()
    {
        var (topic, subscription) = await NewSubscription();
        await using var manager = bus.Client.CreateRuleManager(topic, subscription);
        await manager.DeleteRuleAsync("$Default");
        await bus.Send(topic, "before");
        await manager.CreateRuleAsync("all", new TrueRuleFilter());
        await bus.Send(topic, "after");
        await ExpectOnly(topic, subscription, "after");
    }

    private static ServiceBusMessage Message(string body, string subject, params (string Name, object Value)[] properties)
    {
        var message = new ServiceBusMessage(body) { Subject = subject };
        foreach (var (name, value) in properties)
        {
            message.ApplicationProperties[name] = value;
        }

        return message;
    }

    private static async Task<List<RuleProperties>> Rules(ServiceBusRuleManager manager)
    {
        var rules = new List<RuleProperties>();
        await foreach (var rule in manager.GetRulesAsync())
        {
            rules.Add(rule);
        }

        return rules;
    }

    private static string SqlOf(RuleProperties rule) => ((SqlRuleFilter)rule.Filter).SqlExpression;

    private async Task<(string Topic, string Subscription)> NewSubscription()
    {
        var topic = await bus.NewTopic();
        return (topic, await bus.NewSubscription(topic));
    }

    private async Task<string> Filtered(string topic, RuleFilter filter)
    {
        var options = new CreateSubscriptionOptions(topic, bus.NewName("sub"));
        await bus.Administration.CreateSubscriptionAsync(options, new CreateRuleOptions("only", filter));
        return options.SubscriptionName;
    }

    /// <summary>The subscription gets these messages, and then no other one.</summary>
    private async Task ExpectOnly(string topic, string subscription, params string[] bodies)
    {
        await using var receiver = bus.Client.CreateReceiver(topic, subscription);
        Expect.Sequence(bodies, (await receiver.ReceiveAll(bodies.Length)).Bodies(), $"what '{subscription}' gets");
        await receiver.ExpectNothing();
    }
}
