using Azure.Core.Amqp;
using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Sending;

internal sealed class BodyChecks(Bus bus)
{
    [Check("an empty body arrives as an empty body")]
    public async Task EmptyBody()
    {
        var arrived = await Sent(new ServiceBusMessage());
        Expect.Equal(0, arrived.Body.ToArray().Length);
    }

    [Check("an object is sent as JSON and read as the same object")]
    public async Task Json()
    {
        var arrived = await Sent(new ServiceBusMessage(BinaryData.FromObjectAsJson(new Order("tea", 2))));
        Expect.Equal(new Order("tea", 2), arrived.Body.ToObjectFromJson<Order>());
    }

    [Check("several data sections arrive as several")]
    public async Task SeveralDataSections()
    {
        var body = AmqpMessageBody.FromData([new byte[] { 1, 2 }, new byte[] { 3 }]);
        var arrived = await Sent(MessageOf(body));
        Expect.True(arrived.GetRawAmqpMessage().Body.TryGetData(out var data));
        Expect.Sequence(["1,2", "3"], Expect.Present(data).Select(part => string.Join(',', part.ToArray())));
        Expect.Sequence<byte>([1, 2, 3], arrived.Body.ToArray());
    }

    [Check("a value body keeps its value and its type, whatever it is")]
    public async Task Values()
    {
        object[] values =
        [
            "text", true, (byte)200, (sbyte)-3, (short)-4, (ushort)4, -5, 5u, -6L, 6UL, 1.5f, 2.5, 7.25m, 'x',
            Guid.Parse("c5a1bb7f-3c60-4d9a-8d36-3f2a7a1b1f9e"), new DateTime(2026, 1, 2, 3, 4, 5, DateTimeKind.Utc),
            TimeSpan.FromMinutes(3), new Uri("https://example.org/a?b=c"),
        ];
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessagesAsync(values.Select(value => MessageOf(AmqpMessageBody.FromValue(value))));
        await using var receiver = bus.Client.CreateReceiver(queue);
        var found = new List<object?>();
        foreach (var message in await receiver.ReceiveAll(values.Length))
        {
            Expect.True(message.GetRawAmqpMessage().Body.TryGetValue(out var value), "the body is a value");
            found.Add(value);
        }

        Expect.Sequence(values, found.OfType<object>());
        Expect.Sequence(values.Select(value => value.GetType()), found.OfType<object>().Select(value => value.GetType()));
    }

    [Check("a value body may be a list, a map or bytes")]
    public async Task ComposedValues()
    {
        var list = await ValueSent(new List<object> { 1, "two", 3.0 });
        Expect.Sequence([1, "two", 3.0], (IEnumerable<object>)list);
        var map = await ValueSent(new Dictionary<string, object> { ["a"] = 1L, ["b"] = "two" });
        Expect.Sequence(["a=1", "b=two"], ((IDictionary<string, object>)map).Select(pair => $"{pair.Key}={pair.Value}"));
        var bytes = await ValueSent(new byte[] { 0, 255 });
        Expect.Sequence<byte>([0, 255], (byte[])bytes);
    }

    [Check("sequence sections keep their lists and the types in them")]
    public async Task Sequences()
    {
        var arrived = await Sent(MessageOf(AmqpMessageBody.FromSequence([[1, "two"], [3L, true]])));
        Expect.True(arrived.GetRawAmqpMessage().Body.TryGetSequence(out var lists));
        Expect.Sequence([1, "two", 3L, true], Expect.Present(lists).SelectMany(list => list));
        Expect.Equal(2, Expect.Present(lists).Count());
    }

    [Check("the Body of a message with a value is refused by the client, which is told to ask for the raw message")]
    public async Task BodyOfAValue()
    {
        var arrived = await Sent(MessageOf(AmqpMessageBody.FromValue("text")));
        await Expect.Throws<NotSupportedException>(() => Task.FromResult(arrived.Body));
    }

    [Check("header, footer, delivery annotations and annotations of one's own come back")]
    public async Task OtherSections()
    {
        var sent = new ServiceBusMessage("sections");
        var raw = sent.GetRawAmqpMessage();
        raw.Header.Durable = true;
        raw.Header.Priority = 7;
        raw.Footer["sum"] = 12L;
        raw.DeliveryAnnotations["way"] = "by train";
        raw.MessageAnnotations["mine"] = 5;
        raw.Properties.UserId = new byte[] { 9, 8 };
        var arrived = (await Sent(sent)).GetRawAmqpMessage();
        Expect.Equal(true, arrived.Header.Durable);
        Expect.Equal((byte)7, arrived.Header.Priority);
        Expect.Equal(12L, arrived.Footer["sum"]);
        Expect.Equal("by train", arrived.DeliveryAnnotations["way"]);
        Expect.Equal(5, arrived.MessageAnnotations["mine"]);
        Expect.Sequence<byte>([9, 8], Expect.Present(arrived.Properties.UserId?.ToArray()));
    }

    private static ServiceBusMessage MessageOf(AmqpMessageBody body) => new(new AmqpAnnotatedMessage(body));

    private async Task<ServiceBusReceivedMessage> Sent(ServiceBusMessage message)
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessageAsync(message);
        await using var receiver = bus.Client.CreateReceiver(queue);
        return await receiver.ReceiveOne();
    }

    private async Task<object> ValueSent(object value)
    {
        var arrived = await Sent(MessageOf(AmqpMessageBody.FromValue(value)));
        Expect.True(arrived.GetRawAmqpMessage().Body.TryGetValue(out var found), "the body is a value");
        return Expect.Present(found);
    }

    private sealed record Order(string Article, int Count);
}
