using Azure.Messaging.ServiceBus.Administration;
using Shop;

namespace Dynabus.Checks.WolverineFx;

/// <summary>What the sample's processes create at their start.</summary>
internal sealed class TopologyChecks(Stage stage)
{
    public async Task Run(Tally tally)
    {
        await tally.Check("a start creates the queues, each as it is configured", Queues);
        await tally.Check("a start creates the topic and its subscriptions", Subscriptions);
        await tally.Check("a subscription has the rule of the sample, and no other", Rules);
        await tally.Check("each process has a response queue, which goes when it is idle", ResponseQueues);
        await tally.Check("another start leaves what is there as it is", AnotherStart);
    }

    private async Task Queues()
    {
        foreach (var name in new[] { ShopSetup.Orders, ShopSetup.Quotes, ShopSetup.Reminders, ShopSetup.Errors })
        {
            var queue = (await stage.Administration.GetQueueAsync(Stage.PathOf(name))).Value;
            Expect.True(!queue.RequiresSession, name);
        }

        var parcels = (await stage.Administration.GetQueueAsync(Stage.PathOf(ShopSetup.Parcels))).Value;
        Expect.True(parcels.RequiresSession);
        var payments = (await stage.Administration.GetQueueAsync(Stage.PathOf(ShopSetup.Payments))).Value;
        Expect.Equal(3, payments.MaxDeliveryCount);
        var labels = (await stage.Administration.GetQueueAsync(Stage.PathOf(ShopSetup.Labels))).Value;
        Expect.Equal(TimeSpan.FromSeconds(5), labels.LockDuration);
    }

    private async Task Subscriptions()
    {
        var found = new List<string>();
        var topic = Stage.PathOf(ShopSetup.OrderEvents);
        await foreach (var subscription in stage.Administration.GetSubscriptionsAsync(topic))
        {
            found.Add(subscription.SubscriptionName);
        }

        Expect.Sequence(
            new[] { Stage.PathOf(ShopSetup.Invoices), Stage.PathOf(ShopSetup.LargeOrders) },
            found.Order());
    }

    private async Task Rules()
    {
        var rules = await RulesOf(ShopSetup.LargeOrders);
        Expect.Sequence(["size = 'large'"], rules.Select(rule => ((SqlRuleFilter)rule.Filter).SqlExpression));
    }

    private async Task ResponseQueues()
    {
        var found = new List<QueueProperties>();
        await foreach (var queue in stage.Administration.GetQueuesAsync())
        {
            found.Add(queue);
        }

        foreach (var process in new[] { "worker", "storefront" })
        {
            var prefix = $"wolverine.response.{Stage.PathOf(process)}.";
            var own = found.Where(queue => queue.Name.StartsWith(prefix, StringComparison.Ordinal)).ToList();
            Expect.True(own.Count >= 1, process);
            Expect.True(own.All(queue => queue.AutoDeleteOnIdle == TimeSpan.FromMinutes(5)), process);
        }
    }

    private async Task AnotherStart()
    {
        var before = await Facts();
        await stage.StopWorker();
        await stage.StartWorker();
        Expect.Sequence(before, await Facts());
    }

    /// <summary>What must be the same after another start.</summary>
    private async Task<IReadOnlyList<string>> Facts()
    {
        var orders = (await stage.Administration.GetQueueRuntimePropertiesAsync(Stage.PathOf(ShopSetup.Orders))).Value;
        var rules = await RulesOf(ShopSetup.LargeOrders);
        return [$"{orders.CreatedAt:O}", .. rules.Select(rule => $"{rule.Name}: {rule.Filter}")];
    }

    private async Task<IReadOnlyList<RuleProperties>> RulesOf(string subscription)
    {
        var found = new List<RuleProperties>();
        var rules = stage.Administration.GetRulesAsync(Stage.PathOf(ShopSetup.OrderEvents), Stage.PathOf(subscription));
        await foreach (var rule in rules)
        {
            found.Add(rule);
        }

        return found;
    }
}
