using Shop;
using Wolverine;
using Wolverine.Runtime.RemoteInvocation;

namespace Dynabus.Checks.WolverineFx;

/// <summary>Commands, events, requests, sessions, and how much runs at once.</summary>
internal sealed class MessagingChecks(Stage stage)
{
    private const int Many = 300;
    private static readonly TimeSpan Bound = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan AnswerTime = TimeSpan.FromSeconds(30);

    public async Task Run(Tally tally)
    {
        await tally.Check("a command is handled once", Command);
        await tally.Check("an event reaches each subscription whose rule lets it through", Events);
        await tally.Check($"{Many} commands are handled, each once, and each leads to its event", ManyCommands, Bound);
        await tally.Check("a request is answered", Request);
        await tally.Check("requests of two processes at the same time each get their own answer", ManyRequests);
        await tally.Check("a request that fails tells why", FailingRequest);
        await tally.Check("steps of a parcel are handled in order, several parcels at a time", Sessions);
        await tally.Check($"labels are printed {ShopSetup.Printers} at a time, never more", Concurrency);
        await tally.Check("the lock of a long handler is renewed", LongHandler);
    }

    private async Task Command()
    {
        var order = stage.NewKey("order");
        await stage.Bus.SendAsync(new PlaceOrder(order, 10));
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.SendInvoice), order).Count > 0);
        Expect.Equal(1, stage.Outside.Calls(nameof(IOutside.TakeOrder), order).Count);
    }

    private async Task Events()
    {
        var (small, large) = (stage.NewKey("small"), stage.NewKey("large"));
        await stage.Bus.SendAsync(new PlaceOrder(small, ShopSetup.LargeFrom - 1));
        await stage.Bus.SendAsync(new PlaceOrder(large, ShopSetup.LargeFrom));
        await Wait.Until(() =>
            stage.Outside.Calls(nameof(IOutside.SendInvoice), small).Count == 1
            && stage.Outside.Calls(nameof(IOutside.SendInvoice), large).Count == 1
            && stage.Outside.Calls(nameof(IOutside.CallCustomer), large).Count == 1);
        Expect.Equal(0, stage.Outside.Calls(nameof(IOutside.CallCustomer), small).Count);
    }

    private async Task ManyCommands()
    {
        var prefix = stage.NewKey("many") + "-";
        for (var i = 0; i < Many; i++)
        {
            await stage.Bus.SendAsync(new PlaceOrder(prefix + i, 10));
        }

        await Expect.Eventually(
            () => stage.Outside.Keys(nameof(IOutside.SendInvoice), prefix) == Many,
            Bound);
        Expect.Equal(Many, stage.Outside.CallsOfAll(nameof(IOutside.TakeOrder), prefix).Count);
        Expect.Equal(Many, stage.Outside.CallsOfAll(nameof(IOutside.SendInvoice), prefix).Count);
    }

    private async Task Request()
    {
        var quote = await stage.Bus.InvokeAsync<Quote>(new GetQuote("chair", 2), timeout: AnswerTime);
        Expect.Equal(new Quote("chair", 19m), quote);
    }

    private async Task ManyRequests()
    {
        var other = await stage.StartStorefront();
        var asked = Enumerable.Range(1, 60)
            .Select(count => (Bus: count % 2 == 0 ? other : stage.Bus, Count: count))
            .ToList();
        var quotes = await Task.WhenAll(asked.Select(async ask =>
            await ask.Bus.InvokeAsync<Quote>(new GetQuote($"article {ask.Count}", ask.Count), timeout: AnswerTime)));
        Expect.Sequence(asked.Select(ask => new Quote($"article {ask.Count}", ask.Count * 9.5m)), quotes);
    }

    private async Task FailingRequest()
    {
        var failure = await Expect.Throws<WolverineRequestReplyException>(
            () => stage.Bus.InvokeAsync<Quote>(new GetQuote("chair", 0), timeout: AnswerTime));
        Expect.True(failure.Message.Contains("Count is at least 1"), failure.Message);
    }

    private async Task Sessions()
    {
        const int steps = 15;
        var parcels = Enumerable.Range(0, 6).Select(_ => stage.NewKey("parcel")).ToList();
        for (var step = 1; step <= steps; step++)
        {
            foreach (var parcel in parcels)
            {
                await stage.Bus.SendAsync(new MoveParcel(parcel, step));
            }
        }

        await Expect.Eventually(
            () => parcels.All(parcel => stage.Outside.Calls(nameof(IOutside.ScanParcel), parcel).Count == steps),
            TimeSpan.FromSeconds(50));
        foreach (var parcel in parcels)
        {
            var taken = stage.Outside.Calls(nameof(IOutside.ScanParcel), parcel).Select(call => call.Step);
            Expect.Sequence(Enumerable.Range(1, steps), taken);
        }

        Expect.Between(2, 4, stage.Outside.MostParcels);
    }

    private async Task Concurrency()
    {
        const int labels = 40;
        var prefix = stage.NewKey("label") + "-";
        for (var i = 0; i < labels; i++)
        {
            await stage.Bus.SendAsync(new PrintLabel(prefix + i));
        }

        await Wait.Until(() => stage.Outside.Keys(nameof(IOutside.PrintLabel), prefix) == labels);
        Expect.Equal(labels, stage.Outside.CallsOfAll(nameof(IOutside.PrintLabel), prefix).Count);
        Expect.Equal(ShopSetup.Printers, stage.Outside.MostLabels);
    }

    /// <summary>Twice as long as the lock of the queue; what is handled twice would be printed twice.</summary>
    private async Task LongHandler()
    {
        var (slow, next) = (stage.NewKey("slow"), stage.NewKey("next"));
        stage.Outside.Take(slow, TimeSpan.FromSeconds(11));
        await stage.Bus.SendAsync(new PrintLabel(slow));
        var path = Stage.PathOf(ShopSetup.Labels);
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.PrintLabel), slow).Count == 1);
        await Expect.Eventually(
            async () => (await stage.Administration.GetQueueRuntimePropertiesAsync(path)).Value.ActiveMessageCount == 0,
            TimeSpan.FromSeconds(25));
        await stage.Bus.SendAsync(new PrintLabel(next));
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.PrintLabel), next).Count == 1);
        Expect.Equal(1, stage.Outside.Calls(nameof(IOutside.PrintLabel), slow).Count);
    }
}
