using Shop;
using Wolverine;

namespace Dynabus.Checks.WolverineFx;

/// <summary>The worker ends, or the namespace does, with all connections, while messages are on their way.</summary>
internal sealed class RestartChecks(Stage stage)
{
    private const int Orders = 300;
    private const int Labels = 150;
    private const int Parcels = 5;
    private const int Steps = 20;
    private static readonly TimeSpan Bound = TimeSpan.FromMinutes(3);

    public async Task Run(Tally tally)
    {
        await tally.Check("what is sent while no worker runs is handled when one starts", SentWithoutWorker);
        await tally.Check("a worker that stops under load loses nothing", WorkerStops, Bound);
        await tally.Check("a namespace that starts again under load loses nothing", NamespaceStartsAgain, Bound);
        await tally.Check("requests are answered after the namespace has started again", Request);
        await tally.Check("scheduled messages and retries come due across a start of the namespace", Scheduled, Bound);
    }

    private async Task SentWithoutWorker()
    {
        var (order, label) = (stage.NewKey("order"), stage.NewKey("label"));
        await stage.StopWorker();
        await stage.Bus.SendAsync(new PlaceOrder(order, 10));
        await stage.Bus.SendAsync(new PrintLabel(label));
        await stage.StartWorker();
        await Wait.Until(() =>
            stage.Outside.Calls(nameof(IOutside.SendInvoice), order).Count == 1
            && stage.Outside.Calls(nameof(IOutside.PrintLabel), label).Count == 1);
    }

    private async Task WorkerStops()
    {
        var prefix = stage.NewKey("stopped") + "-";
        var sending = Send(prefix);
        await Wait.Until(() => stage.Outside.Keys(nameof(IOutside.TakeOrder), prefix) > Orders / 10);
        await stage.StopWorker();
        await stage.StartWorker();
        await sending;
        await EverythingIsHandled(prefix);
    }

    private async Task NamespaceStartsAgain()
    {
        var prefix = stage.NewKey("restarted") + "-";
        var sending = Send(prefix);
        await Wait.Until(() => stage.Outside.Keys(nameof(IOutside.TakeOrder), prefix) > Orders / 10);
        await stage.RestartNamespace();
        await sending;
        await EverythingIsHandled(prefix);
    }

    private async Task Request()
    {
        var quote = await stage.Bus.InvokeAsync<Quote>(new GetQuote("chair", 2), timeout: TimeSpan.FromSeconds(30));
        Expect.Equal(new Quote("chair", 19m), quote);
    }

    private async Task Scheduled()
    {
        var (reminder, busy) = (stage.NewKey("reminder"), stage.NewKey("busy"));
        stage.Outside.Fail(busy, attempt => attempt == 1 ? new CardServiceBusyException("busy") : null);
        await stage.Bus.SendAsync(new ChargeCard(busy, 10));
        var due = DateTimeOffset.UtcNow.AddSeconds(8);
        await stage.Bus.ScheduleAsync(new RemindCustomer(reminder), due);
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.ChargeCard), busy).Count == 1);
        await stage.RestartNamespace();
        await Expect.Eventually(
            () => stage.Outside.Calls(nameof(IOutside.ChargeCard), busy).Count >= 2
                && stage.Outside.Calls(nameof(IOutside.RemindCustomer), reminder).Count >= 1,
            TimeSpan.FromMinutes(2));
        Expect.True(stage.Outside.Calls(nameof(IOutside.RemindCustomer), reminder)[0].At >= due);
    }

    private Task Send(string prefix) => Task.WhenAll(
        SendEach(Orders, i => new PlaceOrder(prefix + i, i % 10 == 0 ? ShopSetup.LargeFrom : 10)),
        SendEach(Labels, i => new PrintLabel(prefix + i)),
        SendEach(Parcels * Steps, i => new MoveParcel(prefix + i % Parcels, 1 + i / Parcels)));

    private async Task SendEach(int count, Func<int, object> messageOf)
    {
        for (var i = 0; i < count; i++)
        {
            await stage.Bus.SendAsync(messageOf(i));
            await Task.Delay(TimeSpan.FromMilliseconds(10));
        }
    }

    /// <summary>
    /// Nothing is lost. The inbox keeps orders from being handled twice; what is handled inline may come again, if its
    /// completion was on its way when the connection ended.
    /// </summary>
    private async Task EverythingIsHandled(string prefix)
    {
        var outside = stage.Outside;
        await Expect.Eventually(() => outside.Keys(nameof(IOutside.TakeOrder), prefix) == Orders, Bound);
        await Expect.Eventually(() => outside.Keys(nameof(IOutside.SendInvoice), prefix) == Orders, Bound);
        await Expect.Eventually(() => outside.Keys(nameof(IOutside.CallCustomer), prefix) == Orders / 10, Bound);
        await Expect.Eventually(() => outside.Keys(nameof(IOutside.PrintLabel), prefix) == Labels, Bound);
        await Expect.Eventually(() => DistinctSteps(prefix) == Parcels * Steps, Bound);
        Expect.Equal(Orders, outside.CallsOfAll(nameof(IOutside.TakeOrder), prefix).Count);
        Expect.Equal(Orders, outside.CallsOfAll(nameof(IOutside.SendInvoice), prefix).Count);
        var labels = outside.CallsOfAll(nameof(IOutside.PrintLabel), prefix).Count;
        Expect.Between(Labels, Labels + ShopSetup.Printers, labels);
    }

    private int DistinctSteps(string prefix) =>
        stage.Outside.CallsOfAll(nameof(IOutside.ScanParcel), prefix)
            .Select(call => (call.Key, call.Step))
            .Distinct()
            .Count();
}
