namespace Shop;

/// <summary>What a process of the shop takes from its surroundings.</summary>
/// <param name="ConnectionString">Of the namespace.</param>
/// <param name="DatabaseFile">Keeps the outbox and the inbox of this process. It is created if it is missing.</param>
/// <param name="Prefix">What the names of its queues and topics begin with.</param>
public record ShopSettings(string ConnectionString, string DatabaseFile, string Prefix = "shop");
