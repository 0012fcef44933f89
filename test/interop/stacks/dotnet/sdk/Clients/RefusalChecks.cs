using System.Net.WebSockets;
using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using Dynabus.Checks.Sdk.Processing;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Clients;

internal sealed class RefusalChecks(Bus bus)
{
    [Check("a missing queue: MessagingEntityNotFound for sending, receiving, peeking and scheduling")]
    public async Task MissingEntity()
    {
        const ServiceBusFailureReason NotFound = ServiceBusFailureReason.MessagingEntityNotFound;
        var name = bus.NewName();
        await using var sender = bus.Client.CreateSender(name);
        await using var receiver = bus.Client.CreateReceiver(name);
        await Refused(NotFound, () => sender.SendMessageAsync(new ServiceBusMessage("lost")));
        await Refused(NotFound, () => sender.ScheduleMessageAsync(new ServiceBusMessage("lost"), DateTimeOffset.UtcNow));
        await Refused(NotFound, () => receiver.ReceiveMessageAsync(Moment));
        await Refused(NotFound, () => receiver.PeekMessageAsync());
        await Refused(NotFound, () => bus.Client.AcceptNextSessionAsync(name));
    }

    [Check("a missing subscription: MessagingEntityNotFound")]
    public async Task MissingSubscription()
    {
        var topic = await bus.NewTopic();
        await using var receiver = bus.Client.CreateReceiver(topic, "missing");
        await Refused(ServiceBusFailureReason.MessagingEntityNotFound, () => receiver.ReceiveMessageAsync(Moment));
    }

    [Check("a disabled queue: MessagingEntityDisabled for senders and receivers, until it is enabled again")]
    public async Task DisabledQueue()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "kept");
        await SetStatus(queue, EntityStatus.Disabled);
        await using var sender = bus.Client.CreateSender(queue);
        await using var receiver = bus.Client.CreateReceiver(queue);
        var send = () => sender.SendMessageAsync(new ServiceBusMessage("refused"));
        await Refused(ServiceBusFailureReason.MessagingEntityDisabled, send);
        await Refused(ServiceBusFailureReason.MessagingEntityDisabled, () => ReceiveOn(receiver));
        await SetStatus(queue, EntityStatus.Active);
        await send();
        Expect.Sequence(["kept", "refused"], (await receiver.ReceiveAll(2)).Bodies());
    }

    [Check("SendDisabled still gives messages, and ReceiveDisabled still takes them")]
    public async Task HalfDisabled()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "first");
        await SetStatus(queue, EntityStatus.SendDisabled);
        await Refused(ServiceBusFailureReason.MessagingEntityDisabled, () => bus.Send(queue, "refused"));
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.Equal("first", await receiver.CompleteOne());
        await SetStatus(queue, EntityStatus.ReceiveDisabled);
        await bus.Send(queue, "second");
        await using var another = bus.Client.CreateReceiver(queue);
        await Refused(ServiceBusFailureReason.MessagingEntityDisabled, () => ReceiveOn(another));
    }

    [Check("a processor of a queue that forwards tells that nothing can be received there")]
    public async Task ForwardingQueue()
    {
        var last = await bus.NewQueue();
        var first = await bus.NewQueue(options => options.ForwardTo = last);
        var handling = new Handling();
        await using var processor = bus.Client.CreateProcessor(first);
        processor.ProcessMessageAsync += args => handling.Work(args.Message);
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        await Expect.Eventually(() => !handling.Errors.IsEmpty);
        Expect.True(handling.Errors.First().Exception is InvalidOperationException);
    }

    [Check("a wrong key: UnauthorizedAccessException")]
    public async Task WrongKey()
    {
        var queue = await bus.NewQueue();
        var key = Convert.ToBase64String(new byte[32]);
        var wrong = bus.ConnectionString.Replace(bus.Connection.SharedAccessKey, key);
        await using var client = new ServiceBusClient(wrong, bus.OptionsWith());
        await using var sender = client.CreateSender(queue);
        await Expect.Throws<UnauthorizedAccessException>(() => sender.SendMessageAsync(new ServiceBusMessage("no")));
    }

    [Check("a server that is not there: ServiceCommunicationProblem, which is transient, or the error of the WebSocket")]
    public async Task NoServer()
    {
        await using var client = bus.NewClient(options =>
        {
            options.CustomEndpointAddress = new Uri("sb://localhost:1");
            options.RetryOptions = new ServiceBusRetryOptions { MaxRetries = 1, Delay = TimeSpan.FromMilliseconds(100) };
        });
        await using var sender = client.CreateSender("any");
        var send = () => sender.SendMessageAsync(new ServiceBusMessage("lost"));
        if (bus.Transport == "websocket")
        {
            // The client passes on what its WebSocket says.
            await Expect.Throws<WebSocketException>(send);
            return;
        }

        await Refused(ServiceBusFailureReason.ServiceCommunicationProblem, send, isTransient: true);
    }

    [Check("every refusal names a tracking id and the entity")]
    public async Task TrackingId()
    {
        var queue = await bus.NewSessionQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var error = await Expect.Throws<InvalidOperationException>(
            () => sender.SendMessageAsync(new ServiceBusMessage("lost")));
        Expect.True(error.Message.Contains("TrackingId:"), error.Message);
        Expect.True(error.Message.Contains(queue), error.Message);
    }

    /// <summary>A proxy may know the queue as it was some seconds ago; then the first receive finds nothing.</summary>
    private static async Task ReceiveOn(ServiceBusReceiver receiver)
    {
        while (true)
        {
            await receiver.ReceiveMessageAsync(Moment);
        }
    }

    private async Task SetStatus(string queue, EntityStatus status)
    {
        var properties = (await bus.Administration.GetQueueAsync(queue)).Value;
        properties.Status = status;
        await bus.Administration.UpdateQueueAsync(properties);
    }
}
