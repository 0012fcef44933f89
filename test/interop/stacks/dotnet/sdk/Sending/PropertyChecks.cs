using System.Diagnostics;
using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Sending;

internal sealed class PropertyChecks(Bus bus)
{
    [Check("numbers, texts and truth values in application properties keep value and type")]
    public Task SimpleProperties() => ExpectKept(new()
    {
        ["byte"] = byte.MaxValue,
        ["sbyte"] = sbyte.MinValue,
        ["short"] = short.MinValue,
        ["ushort"] = ushort.MaxValue,
        ["int"] = int.MinValue,
        ["uint"] = uint.MaxValue,
        ["long"] = long.MinValue,
        ["ulong"] = ulong.MaxValue,
        ["float"] = 1.5f,
        ["double"] = double.Epsilon,
        ["whole double"] = 1.0,
        ["bool"] = true,
        ["string"] = "text with ü and 🚌",
        ["empty"] = "",
    });

    [Check("char, Guid, decimal and Uri in application properties keep value and type")]
    public Task OtherProperties() => ExpectKept(new()
    {
        ["char"] = 'ß',
        ["guid"] = Guid.Parse("c5a1bb7f-3c60-4d9a-8d36-3f2a7a1b1f9e"),
        ["decimal"] = -79228162514264337593543950335m,
        ["fraction"] = 0.0000001m,
        ["uri"] = new Uri("https://example.org/a?b=c"),
        ["relative uri"] = new Uri("/a/b", UriKind.Relative),
    });

    [Check("DateTime, DateTimeOffset and TimeSpan in application properties keep value and type")]
    public Task Times() => ExpectKept(new()
    {
        ["date"] = new DateTime(2026, 11, 29, 1, 2, 3, 4, DateTimeKind.Utc),
        ["offset"] = new DateTimeOffset(2026, 11, 29, 1, 2, 3, 4, TimeSpan.Zero).AddTicks(5),
        ["span"] = TimeSpan.FromTicks(12_345_678_901),
        ["negative span"] = TimeSpan.FromDays(-2),
    });

    [Check("bytes in an application property are the same bytes")]
    public async Task Bytes()
    {
        var sent = new ServiceBusMessage("bytes");
        sent.ApplicationProperties["bytes"] = new byte[] { 0, 1, 255 };
        Expect.Sequence<byte>([0, 1, 255], (byte[])(await Sent(sent)).ApplicationProperties["bytes"]);
    }

    [Check("a property without a value is there, and has none")]
    public async Task NullProperty()
    {
        var sent = new ServiceBusMessage("null");
        sent.ApplicationProperties["nothing"] = null;
        var arrived = await Sent(sent);
        Expect.True(arrived.ApplicationProperties.TryGetValue("nothing", out var value) && value is null);
    }

    [Check("all properties of a message that a sender sets arrive")]
    public async Task SystemProperties()
    {
        var sent = new ServiceBusMessage("all")
        {
            MessageId = "id",
            CorrelationId = "correlation",
            Subject = "subject",
            To = "to",
            ReplyTo = "reply",
            ReplyToSessionId = "reply session",
            ContentType = "text/plain; charset=utf-8",
            PartitionKey = "key",
            TransactionPartitionKey = "via key",
            TimeToLive = TimeSpan.FromMinutes(10),
        };
        var arrived = await Sent(sent);
        Expect.Equal("id correlation subject to reply", string.Join(' ',
            arrived.MessageId, arrived.CorrelationId, arrived.Subject, arrived.To, arrived.ReplyTo));
        Expect.Equal("reply session", arrived.ReplyToSessionId);
        Expect.Equal("text/plain; charset=utf-8", arrived.ContentType);
        Expect.Equal("key", arrived.PartitionKey);
        Expect.Equal("via key", arrived.TransactionPartitionKey);
        Expect.Equal(TimeSpan.FromMinutes(10), arrived.TimeToLive);
        var expiry = arrived.EnqueuedTime + arrived.TimeToLive;
        Expect.Between(expiry.AddSeconds(-10), expiry, arrived.ExpiresAt);
    }

    [Check("what a sender leaves away is null, and such a message does not expire")]
    public async Task PropertiesLeftAway()
    {
        var arrived = await Sent(new ServiceBusMessage("bare"));
        Expect.Sequence<string?>(
            [null, null, null, null, null, null, null, null],
            [
                arrived.CorrelationId, arrived.Subject, arrived.To, arrived.ReplyTo, arrived.ReplyToSessionId,
                arrived.ContentType, arrived.SessionId, arrived.PartitionKey,
            ]);
        Expect.Equal(TimeSpan.MaxValue, arrived.TimeToLive);
        Expect.Equal(DateTimeOffset.MaxValue, arrived.ExpiresAt);
        Expect.Equal(0, arrived.ApplicationProperties.Count);
    }

    [Check("the time at which a message was enqueued is now")]
    public async Task EnqueuedTime()
    {
        var before = DateTimeOffset.UtcNow.AddMilliseconds(-5);
        var arrived = await Sent(new ServiceBusMessage("now"));
        Expect.Between(before, DateTimeOffset.UtcNow.AddMilliseconds(5), arrived.EnqueuedTime);
    }

    [Check("the trace of the sender travels in Diagnostic-Id and traceparent, and the broker leaves it alone")]
    public async Task Trace()
    {
        var sent = new ServiceBusMessage("traced");
        const string Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        sent.ApplicationProperties["Diagnostic-Id"] = Trace;
        sent.ApplicationProperties["traceparent"] = Trace;
        sent.ApplicationProperties["tracestate"] = "bus=1";
        using var activity = new Activity("a sender's work").Start();
        var arrived = await Sent(sent);
        Expect.Sequence(
            [Trace, Trace, "bus=1"],
            new[] { "Diagnostic-Id", "traceparent", "tracestate" }.Select(name => arrived.ApplicationProperties[name]));
    }

    [Check("a message larger by its properties than 64 KB is refused")]
    public async Task PropertiesTooLarge()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var sent = new ServiceBusMessage("heavy");
        foreach (var number in Enumerable.Range(0, 5))
        {
            sent.ApplicationProperties[$"p{number}"] = new string('x', 20_000);
        }

        await Expect.Throws<ArgumentException>(() => sender.SendMessageAsync(sent));
        Expect.Sequence([], await bus.Content(queue));
    }

    private async Task ExpectKept(Dictionary<string, object> properties)
    {
        var sent = new ServiceBusMessage("typed");
        foreach (var (name, value) in properties)
        {
            sent.ApplicationProperties[name] = value;
        }

        var arrived = (await Sent(sent)).ApplicationProperties;
        Expect.Equal(properties.Count, arrived.Count);
        foreach (var (name, value) in properties)
        {
            Expect.Equal(value, arrived[name], name);
            Expect.Equal(value.GetType(), arrived[name].GetType(), $"the type of {name}");
        }
    }

    private async Task<ServiceBusReceivedMessage> Sent(ServiceBusMessage message)
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessageAsync(message);
        await using var receiver = bus.Client.CreateReceiver(queue);
        return await receiver.ReceiveOne();
    }
}
