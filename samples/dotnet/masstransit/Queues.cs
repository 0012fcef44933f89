namespace Orders;

/// <summary>The names of the queues, and of the subscription that is read directly.</summary>
public static class Queues
{
    public const string Submit = "submit-order";
    public const string Payments = "charge-payment";
    public const string Shipments = "ship-order";
    public const string Reminders = "remind-of-payment";
    public const string History = "order-history";
    public const string Audit = "order-audit";
    public const string Europe = "european-orders";
    public const string LargeOrders = "large-orders";

    public static Uri AddressOf(string queue) => new($"queue:{queue}");
}
