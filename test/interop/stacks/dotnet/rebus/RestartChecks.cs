using Azure.Messaging.ServiceBus;
using Rebus.Exceptions;
using Shop;

namespace Dynabus.Checks.RebusTransport;

/// <summary>The namespace is ended with all its connections, and started again, while messages flow.</summary>
internal static class RestartChecks
{
    private const int Before = 20;
    private const int During = 100;
    private const int OrdersInScope = 10;
    private static readonly TimeSpan Bound = TimeSpan.FromMinutes(5);

    public static async Task Run(Tally tally)
    {
        const string name = "a restart under load loses nothing, and repeats only what was under way";
        if (Namespace.CanRestart)
        {
            await tally.Check(name, UnderLoad, Bound);
        }
        else
        {
            tally.LeaveOut(name, "DYNABUS_CONTROL is not set");
        }
    }

    private static async Task UnderLoad()
    {
        await using var shop = await RunningShop.Start(maxParallelism: 16);
        shop.Terminal.Usually = () => Task.Delay(TimeSpan.FromMilliseconds(30));
        var early = Orders(Before);
        await Place(shop, early);
        await UntilPaid(shop, early);
        await Expect.Eventually(() => early.All(order => shop.Warehouse.HasShipped(order.OrderId)));
        await UntilEmpty(shop.Settings.OrdersQueue);

        var orders = Orders(During);
        var placing = Place(shop, orders);
        await Expect.Eventually(() => orders.Any(order => shop.Warehouse.HasShipped(order.OrderId)), Bound);
        await Namespace.Restart();
        await Expect.Eventually(() => orders.Count(order => IsPaid(shop, order)) > During / 4, Bound);
        Expect.True(!orders.All(order => IsPaid(shop, order)));
        await Namespace.Restart();
        await placing;
        await UntilPaid(shop, orders);
        await Expect.Eventually(() => orders.All(order => shop.Warehouse.HasShipped(order.OrderId)), Bound);

        Expect.Equal(0L, await Namespace.CountIn(shop.Settings.ErrorQueue));
        await UntilEmpty(shop.Settings.OrdersQueue);
        await UntilEmpty(shop.Settings.ShippingQueue);
        Expect.True(early.All(order => shop.Terminal.AttemptsOf(order.OrderId).Length == 1));
    }

    /// <summary>All is settled, also the look at each order when its time for paying is over.</summary>
    private static Task UntilEmpty(string queue) =>
        Expect.Eventually(async () => await Namespace.CountIn(queue) == 0, Bound);

    private static List<PlaceOrder> Orders(int count) =>
        [.. Enumerable.Range(0, count).Select(_ => new PlaceOrder(Guid.NewGuid().ToString("N"), "tea", 1m, "visa"))];

    /// <summary>Places orders in groups. A group whose sending failed is sent again: it may have arrived.</summary>
    private static async Task Place(RunningShop shop, IEnumerable<PlaceOrder> orders)
    {
        foreach (var group in orders.Chunk(OrdersInScope))
        {
            while (!await TryPlace(shop, group))
            {
                await Task.Delay(TimeSpan.FromMilliseconds(500));
            }
        }
    }

    private static async Task<bool> TryPlace(RunningShop shop, PlaceOrder[] group)
    {
        try
        {
            await shop.Customer.Place(group);
            return true;
        }
        catch (Exception error) when (error is RebusApplicationException or ServiceBusException)
        {
            return false;
        }
    }

    private static Task UntilPaid(RunningShop shop, List<PlaceOrder> orders) =>
        Expect.Eventually(() => orders.All(order => IsPaid(shop, order)), Bound);

    private static bool IsPaid(RunningShop shop, PlaceOrder order) => shop.Orders[order.OrderId] == OrderState.Paid;
}
