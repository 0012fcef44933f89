using System.Collections.Concurrent;
using Rebus.Config;
using Rebus.Messages;

namespace Dynabus.Checks.RebusTransport;

/// <summary>Handlers that take longer than the lock of their message.</summary>
internal static class LockChecks
{
    public static Task Run(Tally tally, RunningShop shop) => Task.WhenAll(
        tally.Check("a lock is renewed while its handler runs", () => Renewed(shop), TimeSpan.FromSeconds(120)),
        tally.Check("a lock that is not renewed ends, and the message comes again", NotRenewed));

    /// <summary>The sample locks for 30 seconds. Here a charge takes 50.</summary>
    private static async Task Renewed(RunningShop shop)
    {
        var done = new TaskCompletionSource();
        var orderId = await shop.Place(async _ =>
        {
            await Task.Delay(TimeSpan.FromSeconds(50));
            done.TrySetResult();
        });
        await done.Task;
        await Expect.Eventually(() => shop.Orders[orderId] == Shop.OrderState.Paid);
        Expect.Equal(1, shop.Terminal.AttemptsOf(orderId).Length);
    }

    /// <summary>The transport takes no message that it still handles, so the second time waits for the first.</summary>
    private static async Task NotRenewed()
    {
        var deliveries = new ConcurrentQueue<string>();
        using var bus = new TestBus(
            async (_, context) =>
            {
                deliveries.Enqueue(context.Headers[Headers.DeliveryCount]);
                await Task.Delay(deliveries.Count == 1 ? TimeSpan.FromSeconds(8) : TimeSpan.Zero);
            },
            (_, transport) => transport
                .SetMessagePeekLockDuration(TimeSpan.FromSeconds(5))
                .UseNativeMessageDeliveryCount());
        await bus.Bus.SendLocal(new Text("slow"));
        await Expect.Eventually(() => bus.TimesOf("slow") == 2, TimeSpan.FromSeconds(40));
        Expect.Equal("1", deliveries.First());
        Expect.True(int.Parse(deliveries.Last()) > 1);
        await Expect.Eventually(async () => await Namespace.CountIn(bus.Queue) == 0);
    }
}
