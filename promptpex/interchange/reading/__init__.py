"""What imports share: rows of foreign files with their places, chats, answers, and projects that are inferred."""
