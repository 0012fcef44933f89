namespace Shop;

/// <summary>Command: a customer orders something.</summary>
public record PlaceOrder(string OrderId, string Item, decimal Amount, string Card);

/// <summary>Event: the shop has accepted an order.</summary>
public record OrderPlaced(string OrderId, string Item);

/// <summary>Command of the order service to itself: charge the card.</summary>
public record ChargeCard(string OrderId, string Card, decimal Amount);

/// <summary>Command of the order service to itself, deferred: look whether the order was paid.</summary>
public record CheckPayment(string OrderId);

/// <summary>Request: how far is this order? Answered with <see cref="OrderStatus"/>.</summary>
public record GetOrderStatus(string OrderId);

/// <summary>Reply to <see cref="GetOrderStatus"/>.</summary>
public record OrderStatus(string OrderId, OrderState State);

/// <summary>How far an order is.</summary>
public enum OrderState
{
    Unknown,
    Placed,
    Paid,
    Refused,
    Overdue,
}
