using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Sending;

internal sealed class SenderChecks(Bus bus)
{
    [Check("a message that is sent alone arrives with its body, an id and number 1")]
    public async Task OneMessage()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessageAsync(new ServiceBusMessage("hello"));
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        Expect.Equal("hello", message.Body.ToString());
        Expect.Equal(1, message.SequenceNumber);
        Expect.True(message.MessageId.Length > 0);
        Expect.Equal(1, message.DeliveryCount);
        Expect.Equal(ServiceBusMessageState.Active, message.State);
    }

    [Check("an array of 250 messages arrives whole and in order")]
    public async Task ArrayOfMessages()
    {
        var queue = await bus.NewQueue();
        var bodies = Numbered("m", 250);
        await bus.Send(queue, bodies);
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.Sequence(bodies, (await receiver.ReceiveAll(250)).Bodies());
    }

    [Check("100 sends at the same time on one sender all arrive")]
    public async Task SendsAtOnce()
    {
        var queue = await bus.NewQueue();
        var bodies = Numbered("m", 100);
        await using var sender = bus.Client.CreateSender(queue);
        await Task.WhenAll(bodies.Select(body => sender.SendMessageAsync(new ServiceBusMessage(body))));
        await using var receiver = bus.Client.CreateReceiver(queue);
        var found = (await receiver.ReceiveAll(100)).Bodies();
        Expect.Sequence(bodies.Order(), found.Order());
    }

    [Check("sending no messages at all is nothing")]
    public async Task NoMessages()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue);
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("a message larger than the queue allows: MessageSizeExceeded, and the sender goes on")]
    public async Task MessageTooLarge()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var large = new ServiceBusMessage(new byte[300 * 1024]);
        await Refused(ServiceBusFailureReason.MessageSizeExceeded, () => sender.SendMessageAsync(large));
        await sender.SendMessageAsync(new ServiceBusMessage("small"));
        Expect.Sequence(["small"], await bus.Content(queue));
    }

    [Check("a message of 250 KB arrives byte by byte")]
    public async Task LargeMessage()
    {
        var queue = await bus.NewQueue();
        var body = new byte[250 * 1024];
        new Random(1).NextBytes(body);
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessageAsync(new ServiceBusMessage(body));
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.True((await receiver.ReceiveOne()).Body.ToArray().AsSpan().SequenceEqual(body), "the bytes are the same");
    }

    [Check("an array that is too large together: MessageSizeExceeded, and none of it arrives")]
    public async Task ArrayTooLarge()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var messages = Enumerable.Range(0, 12).Select(_ => new ServiceBusMessage(new byte[100 * 1024]));
        await Refused(ServiceBusFailureReason.MessageSizeExceeded, () => sender.SendMessagesAsync(messages));
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("a received message can be sent again as a new one, with its properties")]
    public async Task SentAgain()
    {
        var (first, second) = (await bus.NewQueue(), await bus.NewQueue());
        await using var sender = bus.Client.CreateSender(first);
        var original = new ServiceBusMessage("again") { MessageId = "one", Subject = "letter" };
        original.ApplicationProperties["colour"] = "red";
        await sender.SendMessageAsync(original);
        await using var receiver = bus.Client.CreateReceiver(first);
        var received = await receiver.ReceiveOne();
        await receiver.DeadLetterMessageAsync(received, "broken", "it does not fit");
        await using var graves = bus.DeadLettersOf(first);
        var dead = await graves.ReceiveOne();
        await using var onward = bus.Client.CreateSender(second);
        await onward.SendMessageAsync(new ServiceBusMessage(dead));
        await using var last = bus.Client.CreateReceiver(second);
        var arrived = await last.ReceiveOne();
        Expect.Equal("again one letter red", string.Join(' ',
            arrived.Body, arrived.MessageId, arrived.Subject, arrived.ApplicationProperties["colour"]));
        Expect.Equal(1, arrived.DeliveryCount);
        Expect.Equal(null, arrived.DeadLetterReason);
    }

    [Check("a sender tells its entity, its namespace and its identifier")]
    public async Task Identity()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue, new ServiceBusSenderOptions { Identifier = "me" });
        await sender.SendMessageAsync(new ServiceBusMessage("hello"));
        Expect.Equal(queue, sender.EntityPath);
        Expect.Equal("localhost", sender.FullyQualifiedNamespace);
        Expect.Equal("me", sender.Identifier);
    }
}
