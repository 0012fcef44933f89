using System.Collections.Concurrent;

namespace Shop;

/// <summary>The orders and how far they are. Each step may be repeated, because a message may come twice.</summary>
public class OrderBook
{
    private readonly ConcurrentDictionary<string, OrderState> orders = new();

    public OrderState this[string orderId] => orders.GetValueOrDefault(orderId);

    /// <summary>Enters an order, unless it is known.</summary>
    public void Place(string orderId) => orders.TryAdd(orderId, OrderState.Placed);

    /// <summary>An order that is paid stays paid.</summary>
    public void Set(string orderId, OrderState state) =>
        orders.AddOrUpdate(orderId, state, (_, known) => known == OrderState.Paid ? known : state);
}
