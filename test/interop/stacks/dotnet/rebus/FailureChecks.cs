using Azure.Messaging.ServiceBus;
using Rebus.Config;
using Rebus.Exceptions;
using Rebus.Messages;
using Rebus.Retry.Simple;
using Shop;

namespace Dynabus.Checks.RebusTransport;

/// <summary>What the sample and the transport do with messages that fail.</summary>
internal static class FailureChecks
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(50);

    public static Task Run(Tally tally, RunningShop shop) => Task.WhenAll(
        tally.Check("a message that fails is tried again at once", () => TriedAgain(shop)),
        tally.Check("a message that failed all attempts is tried again later", () => TriedLater(shop)),
        tally.Check("the error queue holds the message with its exceptions", () => InErrorQueue(shop)),
        tally.Check("the dead-letter queue holds the message with reason and description", () => DeadLettered(shop)),
        tally.Check("an abandoned message comes back with a higher delivery count", DeliveryCount),
        tally.Check("sending to a queue that does not exist fails", NoSuchQueue));

    private static async Task TriedAgain(RunningShop shop)
    {
        var orderId = await shop.Place(FailingUntil(attempt: 3));
        await Expect.Eventually(() => shop.Orders[orderId] == OrderState.Paid, Patience);
        var times = shop.Terminal.AttemptsOf(orderId);
        Expect.Equal(3, times.Length);
        Expect.True(times[2] - times[0] < shop.Settings.CardRetryDelay);
    }

    private static async Task TriedLater(RunningShop shop)
    {
        var orderId = await shop.Place(FailingUntil(attempt: 5));
        await Expect.Eventually(() => shop.Orders[orderId] == OrderState.Paid, Patience);
        var times = shop.Terminal.AttemptsOf(orderId);
        Expect.Equal(5, times.Length);
        // The delay is counted by this machine's clock from before the message is scheduled.
        Expect.Between(shop.Settings.CardRetryDelay, shop.Settings.CardRetryDelay * 3, times[3] - times[2]);
    }

    private static async Task InErrorQueue(RunningShop shop)
    {
        var orderId = await shop.Place(_ => throw new InvalidOperationException("The card is broken."));
        var message = await Namespace.First(shop.Settings.ErrorQueue);
        var details = (string)message.ApplicationProperties[Headers.ErrorDetails];
        Expect.True(details.Contains("System.InvalidOperationException: The card is broken."));
        Expect.True(details.Contains($"The card of order {orderId} cannot be charged."));
        Expect.Equal(shop.Settings.OrdersQueue, (string)message.ApplicationProperties[Headers.SourceQueue]);
        Expect.Equal("2", (string)message.ApplicationProperties[Headers.DeferCount]);
        Expect.Equal(orderId, message.Body.ToObjectFromJson<ChargeCard>()?.OrderId);
        var attempts = shop.Settings.Attempts * (1 + shop.Settings.CardRetries);
        Expect.Equal(attempts, shop.Terminal.AttemptsOf(orderId).Length);
        Expect.Equal(OrderState.Refused, shop.Orders[orderId]);
    }

    private static async Task DeadLettered(RunningShop shop)
    {
        var orderId = await shop.Place(item: "");
        var message = await Namespace.First(shop.Settings.ShippingQueue, SubQueue.DeadLetter);
        Expect.Equal("3 unhandled exceptions", message.DeadLetterReason);
        Expect.True(message.DeadLetterErrorDescription.Contains($"Order {orderId} names no item."));
        Expect.Equal(orderId, message.Body.ToObjectFromJson<OrderPlaced>()?.OrderId);
        Expect.Equal("Shop.OrderPlaced, RebusShop", (string)message.ApplicationProperties[Headers.Type]);
    }

    private static async Task DeliveryCount()
    {
        var counts = new List<string>();
        using var bus = new TestBus(
            (_, context) =>
            {
                counts.Add(context.Headers[Headers.DeliveryCount]);
                return counts.Count < 4 ? throw new InvalidOperationException("Not yet.") : Task.CompletedTask;
            },
            (_, transport) => transport.UseNativeMessageDeliveryCount());
        await bus.Bus.SendLocal(new Text("counted"));
        await Expect.Eventually(() => counts.Count == 4, Patience);
        Expect.Sequence(["1", "2", "3", "4"], counts);
    }

    private static async Task NoSuchQueue()
    {
        using var bus = new TestBus();
        var missing = Namespace.NewName("missing");
        var error = await Expect.Throws<RebusApplicationException>(
            () => bus.Bus.Advanced.Routing.Send(missing, new Text("lost")));
        var cause = error.InnerException as ServiceBusException;
        Expect.Equal(ServiceBusFailureReason.MessagingEntityNotFound, Expect.Present(cause).Reason);
    }

    private static Func<int, Task> FailingUntil(int attempt) => number =>
        number < attempt ? throw new InvalidOperationException($"Attempt {number} fails.") : Task.CompletedTask;
}
