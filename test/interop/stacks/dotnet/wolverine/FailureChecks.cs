using Azure.Messaging.ServiceBus;
using Shop;
using Wolverine;

namespace Dynabus.Checks.WolverineFx;

/// <summary>Where a message goes that cannot be handled, and what is known about it there.</summary>
internal sealed class FailureChecks(Stage stage)
{
    public async Task Run(Tally tally)
    {
        await tally.Check("a refused payment is a dead letter, with the exception", Refused);
        await tally.Check("a payment that stays busy is a dead letter after its last retry", Exhausted);
        await tally.Check("a failed command is in the error queue, with the exception", ErrorQueue);
        await tally.Check("a command that fails publishes no event", NoEvent);
        await tally.Check("a dead letter that is sent again is handled", SentAgain);
        await tally.Check("what is no message of Wolverine's stays out of the handlers", Foreign);
    }

    private async Task Refused()
    {
        var order = stage.NewKey("refused");
        stage.Outside.Fail(order, _ => new CardRefusedException("no cover"));
        await stage.Bus.SendAsync(new ChargeCard(order, 10));
        var dead = await DeadPayment(order);
        Expect.Equal(nameof(CardRefusedException), dead.DeadLetterReason);
        Expect.Equal("no cover", dead.DeadLetterErrorDescription);
        Expect.Equal(1, stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Count);
    }

    private async Task Exhausted()
    {
        var order = stage.NewKey("busy");
        stage.Outside.Fail(order, attempt => new CardServiceBusyException($"busy for the {attempt}. time"));
        await stage.Bus.SendAsync(new ChargeCard(order, 10));
        var dead = await DeadPayment(order);
        Expect.Equal(nameof(CardServiceBusyException), dead.DeadLetterReason);
        Expect.Equal("busy for the 3. time", dead.DeadLetterErrorDescription);
        Expect.Equal(3, stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Count);
    }

    private async Task ErrorQueue()
    {
        var order = stage.NewKey("broken");
        stage.Outside.Fail(order, _ => new InvalidOperationException("no paper left"));
        await stage.Bus.SendAsync(new PlaceOrder(order, 10));
        var failed = await stage.Take(Stage.PathOf(ShopSetup.Errors), message => IsOf(message, order));
        var type = Expect.Present(failed.ApplicationProperties["exception-type"] as string);
        Expect.True(type.EndsWith(nameof(InvalidOperationException)), type);
        Expect.Equal("no paper left", failed.ApplicationProperties["exception-message"]);
        Expect.Equal(typeof(PlaceOrder).FullName, failed.Subject);
    }

    private async Task NoEvent()
    {
        var (broken, good) = (stage.NewKey("broken"), stage.NewKey("order"));
        stage.Outside.Fail(broken, _ => new InvalidOperationException("no paper left"));
        await stage.Bus.SendAsync(new PlaceOrder(broken, ShopSetup.LargeFrom));
        await stage.Take(Stage.PathOf(ShopSetup.Errors), message => IsOf(message, broken));
        await stage.Bus.SendAsync(new PlaceOrder(good, ShopSetup.LargeFrom));
        await Wait.Until(() =>
            stage.Outside.Calls(nameof(IOutside.SendInvoice), good).Count == 1
            && stage.Outside.Calls(nameof(IOutside.CallCustomer), good).Count == 1);
        Expect.Equal(0, stage.Outside.Calls(nameof(IOutside.SendInvoice), broken).Count);
        Expect.Equal(0, stage.Outside.Calls(nameof(IOutside.CallCustomer), broken).Count);
    }

    private async Task SentAgain()
    {
        var order = stage.NewKey("refused");
        stage.Outside.Fail(order, attempt => attempt == 1 ? new CardRefusedException("no cover") : null);
        await stage.Bus.SendAsync(new ChargeCard(order, 10));
        var dead = await DeadPayment(order);
        await using var sender = stage.Client.CreateSender(Stage.PathOf(ShopSetup.Payments));
        await sender.SendMessageAsync(new ServiceBusMessage(dead));
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Count == 2);
    }

    private async Task Foreign()
    {
        var id = Guid.NewGuid().ToString();
        await using var sender = stage.Client.CreateSender(Stage.PathOf(ShopSetup.Payments));
        await sender.SendMessageAsync(new ServiceBusMessage("no JSON") { MessageId = id, Subject = "unknown" });
        await Wait.Until(async () =>
        {
            var payments = Stage.PathOf(ShopSetup.Payments);
            return (await stage.Administration.GetQueueRuntimePropertiesAsync(payments)).Value.ActiveMessageCount == 0;
        });
        var order = stage.NewKey("payment");
        await stage.Bus.SendAsync(new ChargeCard(order, 10));
        await Wait.Until(() => stage.Outside.Calls(nameof(IOutside.ChargeCard), order).Count == 1);
    }

    private Task<ServiceBusReceivedMessage> DeadPayment(string order) =>
        stage.Take(Stage.PathOf(ShopSetup.Payments), message => IsOf(message, order), SubQueue.DeadLetter);

    private static bool IsOf(ServiceBusReceivedMessage message, string key) =>
        message.Body.ToString().Contains($"\"{key}\"");
}
