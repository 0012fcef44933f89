using Rebus.Config;

namespace Dynabus.Checks.RebusTransport;

/// <summary>Many messages at once.</summary>
internal static class LoadChecks
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(80);
    private static readonly TimeSpan Bound = TimeSpan.FromSeconds(100);

    public static Task Run(Tally tally) => Task.WhenAll(
        tally.Check("as many handlers run at once as allowed, and never more", Parallelism, Bound),
        tally.Check("buses that share a queue share its messages", Competing, Bound));

    /// <summary>Charges wait until as many have begun as may run at once, and a little longer for one too many.</summary>
    private static async Task Parallelism()
    {
        await using var shop = await RunningShop.Start();
        var gate = new TaskCompletionSource();
        shop.Terminal.Usually = () => gate.Task;
        var orders = Enumerable.Range(0, 12).Select(_ => NewOrder()).ToList();
        await shop.Customer.Place(orders);
        await Expect.Eventually(() => shop.Terminal.MostAtOnce == shop.Settings.MaxParallelism, Patience);
        await Task.Delay(TimeSpan.FromSeconds(2));
        gate.SetResult();
        await Expect.Eventually(() => orders.All(order => shop.Orders[order.OrderId] == Shop.OrderState.Paid), Patience);
        Expect.Equal(shop.Settings.MaxParallelism, shop.Terminal.MostAtOnce);
    }

    private static async Task Competing()
    {
        using var first = new TestBus((_, context) => Task.Delay(20), options: options => options.SetMaxParallelism(4));
        using var second = new TestBus(
            (_, context) => Task.Delay(20),
            options: options => options.SetMaxParallelism(4),
            queue: first.Queue);
        await first.SendMany(200);
        await Expect.Eventually(() => first.Total + second.Total >= 200, Patience);
        await Expect.Eventually(async () => await Namespace.CountIn(first.Queue) == 0);
        Expect.Equal(200, first.Total + second.Total);
        Expect.Equal(200, first.Different + second.Different);
        Expect.True(first.Total > 30);
        Expect.True(second.Total > 30);
    }

    private static Shop.PlaceOrder NewOrder() => new(Guid.NewGuid().ToString("N"), "tea", 1m, "visa");
}
