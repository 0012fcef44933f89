using Azure.Messaging.ServiceBus;
using Shop;
using Wolverine;

namespace Dynabus.Checks.WolverineFx;

/// <summary>Scheduled messages, and retries, which are scheduled messages.</summary>
internal sealed class TimeChecks(Stage stage)
{
    /// <summary>How late a message may be on a busy machine.</summary>
    private static readonly TimeSpan Late = TimeSpan.FromSeconds(4);

    public async Task Run(Tally tally)
    {
        await tally.Check("a scheduled message comes at its time, not before", Scheduled);
        await tally.Check("a scheduled message waits in the queue itself", WaitsInQueue);
        await tally.Check("a failed payment is tried again after each delay", Retries);
        await tally.Check("a retry is due also after the worker has ended and started again", RetryOutlivesWorker);
    }

    private async Task Scheduled()
    {
        var order = stage.NewKey("reminder");
        var due = DateTimeOffset.UtcNow.AddSeconds(3);
        await stage.Bus.ScheduleAsync(new RemindCustomer(order), due);
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.RemindCustomer), order).Count > 0);
        var at = stage.Outside.Calls(nameof(IOutside.RemindCustomer), order).Single().At;
        Expect.Between(due, due + Late, at);
    }

    private async Task WaitsInQueue()
    {
        var order = stage.NewKey("reminder");
        var due = DateTimeOffset.UtcNow.AddHours(1);
        await stage.Bus.ScheduleAsync(new RemindCustomer(order), due);
        await using var receiver = stage.Client.CreateReceiver(Stage.PathOf(ShopSetup.Reminders));
        var waiting = Expect.Present(await receiver.PeekMessageAsync());
        Expect.Equal(ServiceBusMessageState.Scheduled, waiting.State);
        Expect.Between(-1, 1, (waiting.ScheduledEnqueueTime - due).TotalSeconds);
        await using var sender = stage.Client.CreateSender(Stage.PathOf(ShopSetup.Reminders));
        await sender.CancelScheduledMessageAsync(waiting.SequenceNumber);
    }

    private async Task Retries()
    {
        var order = stage.NewKey("busy");
        stage.Outside.Fail(order, attempt => attempt <= 2 ? new CardServiceBusyException("busy") : null);
        await stage.Bus.SendAsync(new ChargeCard(order, 10));
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Count == 3);
        var at = stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Select(call => call.At).ToList();
        foreach (var (retry, delay) in ShopSetup.PaymentRetries.Index())
        {
            Expect.Between(delay, delay + Late, at[retry + 1] - at[retry]);
        }
    }

    private async Task RetryOutlivesWorker()
    {
        var order = stage.NewKey("busy");
        stage.Outside.Fail(order, attempt => attempt == 1 ? new CardServiceBusyException("busy") : null);
        await stage.Bus.SendAsync(new ChargeCard(order, 10));
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Count == 1);
        await stage.StopWorker();
        await stage.StartWorker();
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Count == 2);
        var at = stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Select(call => call.At).ToList();
        Expect.True(at[1] - at[0] >= ShopSetup.PaymentRetries[0]);
    }
}
