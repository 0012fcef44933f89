using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Administration;

internal sealed class TopicChecks(Bus bus)
{
    private ServiceBusAdministrationClient Admin => bus.Administration;

    [Check("every setting of CreateTopicOptions comes back as it was given")]
    public async Task EverySettingOfATopic()
    {
        var options = new CreateTopicOptions(bus.NewName("topic"))
        {
            AutoDeleteOnIdle = TimeSpan.FromHours(1),
            DefaultMessageTimeToLive = TimeSpan.FromDays(3),
            DuplicateDetectionHistoryTimeWindow = TimeSpan.FromMinutes(5),
            EnableBatchedOperations = false,
            MaxSizeInMegabytes = 2048,
            RequiresDuplicateDetection = true,
            Status = EntityStatus.SendDisabled,
            SupportOrdering = true,
            UserMetadata = "of a topic",
        };
        options.AuthorizationRules.Add(new SharedAccessAuthorizationRule("listen", [AccessRights.Listen]));
        var created = (await Admin.CreateTopicAsync(options)).Value;
        var read = (await Admin.GetTopicAsync(options.Name)).Value;
        Expect.Equal(created, read);
        var actual = new CreateTopicOptions(read) { MaxMessageSizeInKilobytes = null };
        Expect.Equal(options, actual);
        read.UserMetadata = "changed";
        Expect.Equal("changed", (await Admin.UpdateTopicAsync(read)).Value.UserMetadata);
    }

    [Check("every setting of CreateSubscriptionOptions comes back as it was given")]
    public async Task EverySettingOfASubscription()
    {
        var topic = await bus.NewTopic();
        var graveyard = await bus.NewQueue();
        var options = new CreateSubscriptionOptions(topic, "s1")
        {
            AutoDeleteOnIdle = TimeSpan.FromHours(1),
            DeadLetteringOnMessageExpiration = true,
            DefaultMessageTimeToLive = TimeSpan.FromDays(3),
            EnableBatchedOperations = false,
            EnableDeadLetteringOnFilterEvaluationExceptions = false,
            ForwardDeadLetteredMessagesTo = graveyard,
            LockDuration = TimeSpan.FromSeconds(45),
            MaxDeliveryCount = 7,
            RequiresSession = true,
            Status = EntityStatus.ReceiveDisabled,
            UserMetadata = "of a subscription",
        };
        var created = (await Admin.CreateSubscriptionAsync(options)).Value;
        var read = (await Admin.GetSubscriptionAsync(topic, "s1")).Value;
        Expect.Equal(created, read);
        Expect.True(read.ForwardDeadLetteredMessagesTo.EndsWith($"/{graveyard}"));
        read.ForwardDeadLetteredMessagesTo = graveyard;
        Expect.Equal(options, new CreateSubscriptionOptions(read));
        read.MaxDeliveryCount = 9;
        Expect.Equal(9, (await Admin.UpdateSubscriptionAsync(read)).Value.MaxDeliveryCount);
    }

    [Check("rules are created with parameters and an action, changed, listed and deleted")]
    public async Task Rules()
    {
        var topic = await bus.NewTopic();
        var subscription = await bus.NewSubscription(topic);
        var filter = new SqlRuleFilter("a = @a AND b = @b AND c = @c AND d = @d");
        filter.Parameters["@a"] = "text";
        filter.Parameters["@b"] = 5;
        filter.Parameters["@c"] = new DateTime(2026, 1, 2, 3, 4, 5, DateTimeKind.Utc);
        filter.Parameters["@d"] = true;
        var action = new SqlRuleAction("SET x = @x");
        action.Parameters["@x"] = 1.5;
        var created = (await Admin.CreateRuleAsync(topic, subscription, new CreateRuleOptions("r", filter) { Action = action })).Value;
        Expect.Equal(filter.SqlExpression, ((SqlRuleFilter)created.Filter).SqlExpression);
        Expect.Sequence(filter.Parameters, ((SqlRuleFilter)created.Filter).Parameters);
        Expect.Sequence(action.Parameters, ((SqlRuleAction)created.Action).Parameters);
        created.Filter = new CorrelationRuleFilter { Subject = "changed" };
        await Admin.UpdateRuleAsync(topic, subscription, created);
        var read = (await Admin.GetRuleAsync(topic, subscription, "r")).Value;
        Expect.Equal<RuleFilter>(new CorrelationRuleFilter { Subject = "changed" }, read.Filter);
        Expect.Sequence(["$Default", "r"], await Names(Admin.GetRulesAsync(topic, subscription), rule => rule.Name));
        await Refused(
            ServiceBusFailureReason.MessagingEntityAlreadyExists,
            () => Admin.CreateRuleAsync(topic, subscription, new CreateRuleOptions("r")));
        await Admin.DeleteRuleAsync(topic, subscription, "r");
        Expect.Equal(false, (await Admin.RuleExistsAsync(topic, subscription, "r")).Value);
        await Refused(
            ServiceBusFailureReason.MessagingEntityNotFound, () => Admin.DeleteRuleAsync(topic, subscription, "r"));
    }

    [Check("lists of queues, topics, subscriptions and rules go on over several pages")]
    public async Task Paging()
    {
        var topic = await bus.NewTopic();
        var names = Enumerable.Range(100, 105).Select(number => $"s{number}").ToList();
        await Parallel.ForEachAsync(
            names,
            new ParallelOptions { MaxDegreeOfParallelism = 8 },
            async (name, cancellation) => await Admin.CreateSubscriptionAsync(topic, name, cancellation));
        Expect.Sequence(names, await Names(Admin.GetSubscriptionsAsync(topic), found => found.SubscriptionName));
        var counts = await Names(Admin.GetSubscriptionsRuntimePropertiesAsync(topic), found => found.SubscriptionName);
        Expect.Sequence(names, counts);
        var pages = new List<int>();
        await foreach (var page in Admin.GetSubscriptionsAsync(topic).AsPages())
        {
            pages.Add(page.Values.Count);
        }

        Expect.Sequence([100, 5], pages);
        Expect.True((await Names(Admin.GetTopicsAsync(), found => found.Name)).Contains(topic));
        Expect.Equal(105, (await Admin.GetTopicRuntimePropertiesAsync(topic)).Value.SubscriptionCount);
    }

    [Check("runtime properties of a topic and of its subscription count messages")]
    public async Task RuntimeProperties()
    {
        var topic = await bus.NewTopic();
        var subscription = await bus.NewSubscription(topic);
        await bus.Send(topic, "a", "b");
        await using var sender = bus.Client.CreateSender(topic);
        await sender.ScheduleMessageAsync(new ServiceBusMessage("later"), DateTimeOffset.UtcNow.AddHours(1));
        await using var receiver = bus.Client.CreateReceiver(topic, subscription);
        await receiver.DeadLetterMessageAsync(await receiver.ReceiveOne());
        await Expect.Eventually(async () =>
        {
            var counts = (await Admin.GetSubscriptionRuntimePropertiesAsync(topic, subscription)).Value;
            return (counts.ActiveMessageCount, counts.DeadLetterMessageCount, counts.TotalMessageCount) == (1, 1, 2);
        });
        var ofTopic = (await Admin.GetTopicRuntimePropertiesAsync(topic)).Value;
        Expect.Equal("1 1", $"{ofTopic.ScheduledMessageCount} {ofTopic.SubscriptionCount}");
    }

    [Check("deleting a topic deletes its subscriptions")]
    public async Task DeleteTopic()
    {
        var topic = await bus.NewTopic();
        var subscription = await bus.NewSubscription(topic);
        Expect.Equal(true, (await Admin.SubscriptionExistsAsync(topic, subscription)).Value);
        await Admin.DeleteTopicAsync(topic);
        Expect.Equal(false, (await Admin.TopicExistsAsync(topic)).Value);
        await bus.Administration.CreateTopicAsync(topic);
        Expect.Equal(false, (await Admin.SubscriptionExistsAsync(topic, subscription)).Value);
    }

    [Check("the namespace tells its name and its tier")]
    public async Task Namespace()
    {
        var properties = (await Admin.GetNamespacePropertiesAsync()).Value;
        Expect.True(properties.Name.Length > 0);
        Expect.Equal(MessagingSku.Standard, properties.MessagingSku);
    }

    [Check("a key without Manage may not administrate: UnauthorizedAccessException")]
    public async Task WithoutManage()
    {
        var rule = new SharedAccessAuthorizationRule("sender", [AccessRights.Send]);
        var queue = await bus.NewQueue(options => options.AuthorizationRules.Add(rule));
        var connectionString = bus.AdministrationConnectionString
            .Replace("RootManageSharedAccessKey", "sender")
            .Replace(ServiceBusConnectionStringProperties.Parse(bus.AdministrationConnectionString).SharedAccessKey, rule.PrimaryKey);
        var client = new ServiceBusAdministrationClient(connectionString);
        await Expect.Throws<UnauthorizedAccessException>(() => client.DeleteQueueAsync(queue));
        Expect.Equal(true, (await Admin.QueueExistsAsync(queue)).Value);
    }

    private static async Task<List<string>> Names<T>(IAsyncEnumerable<T> found, Func<T, string> nameOf)
    {
        var names = new List<string>();
        await foreach (var one in found)
        {
            names.Add(nameOf(one));
        }

        return names;
    }
}
