using Azure.Messaging.ServiceBus.Administration;
using MassTransit;
using Orders;

namespace Dynabus.Checks.MassTransit;

/// <summary>The entities that the service creates when it starts.</summary>
internal sealed class TopologyChecks(Service service, string connectionString)
{
    private const string Submitted = "Orders/OrderSubmitted";

    public async Task Run(Tally tally)
    {
        await tally.Check("a start creates the queues with their settings", Queues);
        await tally.Check("a start creates the topics, also those that nobody has published to", Topics);
        await tally.Check("a topic forwards to the topic of the interface that its message implements", Interfaces);
        await tally.Check("a subscription has the filter of its endpoint, and no default rule", Filters);
        await tally.Check("the queue for responses is deleted when it is idle, the others are kept", Temporary);
        await tally.Check("another start finds the entities, and changes a filter that is new", Restart);
    }

    private async Task Queues()
    {
        var submit = (await service.Administration.GetQueueAsync(Orders.Queues.Submit)).Value;
        Expect.True(submit.RequiresDuplicateDetection);
        Expect.Equal(TimeSpan.FromMinutes(10), submit.DuplicateDetectionHistoryTimeWindow);
        Expect.Equal(TimeSpan.FromMinutes(5), submit.LockDuration);
        Expect.True(submit.DeadLetteringOnMessageExpiration);
        var shipments = (await service.Administration.GetQueueAsync(Orders.Queues.Shipments)).Value;
        Expect.Equal(TimeSpan.FromSeconds(10), shipments.LockDuration);
        Expect.Equal(5, shipments.MaxDeliveryCount);
        var history = (await service.Administration.GetQueueAsync(Orders.Queues.History)).Value;
        Expect.True(history.RequiresSession);
    }

    private async Task Topics()
    {
        var submitted = (await service.Administration.GetTopicAsync(Submitted)).Value;
        Expect.Equal(TimeSpan.FromDays(7), submitted.DefaultMessageTimeToLive);
        foreach (var topic in new[] { "Orders/OrderPaid", "Orders/OrderShipped", "Orders/IOrderEvent" })
        {
            Expect.True(await service.Administration.TopicExistsAsync(topic), topic);
        }
    }

    private async Task Interfaces()
    {
        var targets = new List<string>();
        await foreach (var subscription in service.Administration.GetSubscriptionsAsync(Submitted))
        {
            targets.Add(new Uri(subscription.ForwardTo ?? "sb://none/none").AbsolutePath.Trim('/').ToLowerInvariant());
        }

        Expect.True(targets.Contains("orders/iorderevent"), string.Join(", ", targets));
        Expect.True(targets.Contains(Orders.Queues.Europe), string.Join(", ", targets));
    }

    private async Task Filters()
    {
        var large = await RulesOf(Orders.Queues.LargeOrders);
        Expect.Sequence(["Large"], large.Select(rule => rule.Name));
        Expect.Equal("Total >= 1000", ((SqlRuleFilter)large[0].Filter).SqlExpression);
        var european = (CorrelationRuleFilter)(await RulesOf(Orders.Queues.Europe)).Single().Filter;
        Expect.Equal("EU", european.ApplicationProperties["Region"]);
    }

    private async Task Temporary()
    {
        var name = service.Bus.Address.AbsolutePath.Trim('/');
        // The service creates it with the first request.
        await service.Submit(new SubmitOrder(NewId.NextGuid(), "Ada", "EU", 0));
        var responses = (await service.Administration.GetQueueAsync(name)).Value;
        Expect.Equal(TimeSpan.FromMinutes(5), responses.AutoDeleteOnIdle);
        var payments = (await service.Administration.GetQueueAsync(Orders.Queues.Payments)).Value;
        Expect.True(payments.AutoDeleteOnIdle > TimeSpan.FromDays(365));
    }

    private async Task Restart()
    {
        await using (await Service.Start(connectionString, Service.Options with { LargeTotal = 2000 }))
        {
            var rule = (await RulesOf(Orders.Queues.LargeOrders)).Single();
            Expect.Equal("Total >= 2000", ((SqlRuleFilter)rule.Filter).SqlExpression);
        }

        await using (await Service.Start(connectionString))
        {
            var rule = (await RulesOf(Orders.Queues.LargeOrders)).Single();
            Expect.Equal("Total >= 1000", ((SqlRuleFilter)rule.Filter).SqlExpression);
        }
    }

    private async Task<IReadOnlyList<RuleProperties>> RulesOf(string subscription)
    {
        var rules = new List<RuleProperties>();
        await foreach (var rule in service.Administration.GetRulesAsync(Submitted, subscription))
        {
            rules.Add(rule);
        }

        return rules;
    }
}
