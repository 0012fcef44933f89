namespace Shop;

/// <summary>What the shop takes from its surroundings. All queues begin with <see cref="Prefix"/>.</summary>
public record ShopSettings(string ConnectionString, string Prefix = "shop")
{
    /// <summary>Handlers of one service that run at the same time.</summary>
    public int MaxParallelism { get; init; } = 8;

    /// <summary>How often a message is tried before the second-level handler sees it.</summary>
    public int Attempts { get; init; } = 3;

    /// <summary>How often a card that failed is charged again, and how long the shop waits before that.</summary>
    public int CardRetries { get; init; } = 2;

    public TimeSpan CardRetryDelay { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>How long a customer has for paying.</summary>
    public TimeSpan PaymentTime { get; init; } = TimeSpan.FromSeconds(30);

    public string OrdersQueue => $"{Prefix}-orders";

    public string ShippingQueue => $"{Prefix}-shipping";

    public string ErrorQueue => $"{Prefix}-errors";
}
