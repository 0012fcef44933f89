using Azure.Messaging.ServiceBus.Administration;
using Rebus.Transport;
using Shop;

namespace Dynabus.Checks.RebusTransport;

/// <summary>What the sample does when all goes well.</summary>
internal static class ShopChecks
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(50);

    public static Task Run(Tally tally, RunningShop shop) => Task.WhenAll(
        tally.Check("the services make queues, topic and a forwarding subscription", () => Topology(shop)),
        tally.Check("an event reaches the subscriber's queue", () => Published(shop)),
        tally.Check("a request is answered over a queue that deletes itself", () => Answered(shop)),
        tally.Check("each of many requests gets its own answer", () => EachItsOwn(shop)),
        tally.Check("what a scope sends leaves all together, or not at all", () => Scope(shop)),
        tally.Check("what a failed handler sent does not leave", HandlerIsAtomic),
        tally.Check("a service looks again at what it deferred", () => Deferred(shop)),
        tally.Check("a deferred message is scheduled, and comes when it is due", WhenDue));

    private static async Task Topology(RunningShop shop)
    {
        var administration = Namespace.Administration;
        QueueProperties orders = await administration.GetQueueAsync(shop.Settings.OrdersQueue);
        Expect.Equal(TimeSpan.FromSeconds(30), orders.LockDuration);
        Expect.Equal(100, orders.MaxDeliveryCount);
        QueueProperties customer = await administration.GetQueueAsync(shop.Customer.Queue);
        Expect.Equal(TimeSpan.FromMinutes(5), customer.AutoDeleteOnIdle);
        Expect.True((await administration.QueueExistsAsync(shop.Settings.ErrorQueue)).Value);
        SubscriptionProperties subscription = await administration.GetSubscriptionAsync(
            "RebusShop/Shop.OrderPlaced",
            shop.Settings.ShippingQueue);
        Expect.True(subscription.ForwardTo.EndsWith($"/{shop.Settings.ShippingQueue}"), subscription.ForwardTo);
    }

    private static async Task Published(RunningShop shop)
    {
        var orderId = await shop.Place();
        await Expect.Eventually(() => shop.Warehouse.HasShipped(orderId), Patience);
    }

    private static async Task Answered(RunningShop shop)
    {
        Expect.Equal(OrderState.Unknown, (await shop.Customer.StatusOf("no such order", Patience)).State);
        var orderId = await shop.Place();
        await Expect.Eventually(() => shop.Orders[orderId] == OrderState.Paid, Patience);
        Expect.Equal(new OrderStatus(orderId, OrderState.Paid), await shop.Customer.StatusOf(orderId, Patience));
    }

    private static async Task EachItsOwn(RunningShop shop)
    {
        var orderIds = Enumerable.Range(0, 50).Select(number => $"request {number}").ToList();
        var answers = await Task.WhenAll(orderIds.Select(id => shop.Customer.StatusOf(id, Patience)));
        Expect.Sequence(orderIds, answers.Select(answer => answer.OrderId));
    }

    private static async Task Scope(RunningShop shop)
    {
        using var bus = new TestBus();
        using (new RebusTransactionScope())
        {
            await bus.Bus.SendLocal(new Text("forgotten"));
        }

        await bus.SendMany(100);
        await Expect.Eventually(() => bus.Different == 100, Patience);
        Expect.Equal(0, bus.TimesOf("forgotten"));
        Expect.Equal(100, bus.Total);

        var orders = Enumerable.Range(0, 20)
            .Select(number => new PlaceOrder($"{shop.Settings.Prefix}-{number}", "tea", 1m, "visa"))
            .ToList();
        await shop.Customer.Place(orders);
        await Expect.Eventually(() => orders.All(order => shop.Orders[order.OrderId] == OrderState.Paid), Patience);
    }

    private static async Task HandlerIsAtomic()
    {
        using var results = new TestBus();
        var attempts = 0;
        TestBus? worker = null;
        using var owned = worker = new TestBus(async (text, _) =>
        {
            attempts += 1;
            await worker!.Bus.Advanced.Routing.Send(results.Queue, new Text($"{text.Content}, attempt {attempts}"));
            if (attempts < 3)
            {
                throw new InvalidOperationException("Not yet.");
            }
        });
        await worker.Bus.SendLocal(new Text("work"));
        await Expect.Eventually(() => results.Total > 0, Patience);
        Expect.Equal(1, results.TimesOf("work, attempt 3"));
        Expect.Equal(1, results.Total);
    }

    /// <summary>An order not paid in time becomes overdue: the shop deferred a look at it.</summary>
    private static async Task Deferred(RunningShop shop)
    {
        var paid = new TaskCompletionSource();
        var orderId = await shop.Place(_ => paid.Task);
        await Expect.Eventually(() => shop.Orders[orderId] == OrderState.Placed, Patience);
        await Expect.Eventually(() => shop.Orders[orderId] == OrderState.Overdue, Patience);
        paid.SetResult();
        await Expect.Eventually(() => shop.Orders[orderId] == OrderState.Paid, Patience);
    }

    private static async Task WhenDue()
    {
        DateTimeOffset? handledAt = null;
        using var bus = new TestBus((_, _) =>
        {
            handledAt = DateTimeOffset.UtcNow;
            return Task.CompletedTask;
        });
        var deferredAt = DateTimeOffset.UtcNow;
        await bus.Bus.DeferLocal(TimeSpan.FromSeconds(6), new Text("later"));
        var counts = await Namespace.Administration.GetQueueRuntimePropertiesAsync(bus.Queue);
        Expect.Equal(1L, counts.Value.ScheduledMessageCount);
        await Expect.Eventually(() => handledAt is not null);
        Expect.Between(TimeSpan.FromSeconds(6), TimeSpan.FromSeconds(10), handledAt!.Value - deferredAt);
    }
}
