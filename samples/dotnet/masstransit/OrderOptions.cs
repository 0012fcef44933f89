namespace Orders;

/// <summary>How long the service waits for things, and how much it does at a time.</summary>
public sealed record OrderOptions
{
    /// <summary>The customer is reminded of an order that is not paid this long after it came.</summary>
    public TimeSpan RemindAfter { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>How often a failed payment is tried again at once, with the message still locked.</summary>
    public int PaymentRetries { get; init; } = 2;

    /// <summary>A payment that still fails is scheduled again after each of these, then goes to the error queue.</summary>
    public TimeSpan[] PaymentRedeliveries { get; init; } = [TimeSpan.FromSeconds(5), TimeSpan.FromSeconds(15)];

    /// <summary>How many orders one process ships at the same time.</summary>
    public int ConcurrentShipments { get; init; } = 4;

    /// <summary>How many messages are fetched ahead of those.</summary>
    public int ShipmentPrefetch { get; init; } = 16;

    /// <summary>An order from here on is a large one.</summary>
    public int LargeTotal { get; init; } = 1000;
}
