-- Distribute the tables of both apps over the nodes of Citus. Run this in one transaction, on an empty or a filled
-- database. "manage.py distribute" does so.

-- By default, a statement over several shards uses a connection for each of them, and the same transaction can then not
-- change a reference table. The deletion of a user group does both.
SET LOCAL citus.multi_shard_modify_mode TO 'sequential';
DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I SET citus.multi_shard_modify_mode TO ''sequential''', current_database());
END
$$;

-- Citus would otherwise also convert the tables that refer to the first reference table, and restart their identity
-- columns.
SET LOCAL citus.enable_local_reference_table_foreign_keys TO off;

-- Each shard enforces only its own constraints, so the keys contain the user group. The id is first, because pages of
-- the admin look up rows by id alone. A table cannot be altered while rows that were copied to it wait for the check of
-- a deferred foreign key, so all foreign keys are added at the end.
ALTER TABLE bookmarks_bookmark
    DROP CONSTRAINT bookmarks_collection_of_group,
    DROP CONSTRAINT bookmarks_bookmark_user_group_id_d6125d4c_fk_usergroup,
    DROP CONSTRAINT bookmarks_bookmark_pkey,
    ADD CONSTRAINT bookmarks_bookmark_pkey PRIMARY KEY (id, user_group_id);
ALTER TABLE bookmarks_collection
    DROP CONSTRAINT bookmarks_collection_user_group_id_67ae03cb_fk_usergroup,
    DROP CONSTRAINT bookmarks_collection_pkey,
    ADD CONSTRAINT bookmarks_collection_pkey PRIMARY KEY (id, user_group_id);
ALTER TABLE bookmarks_deletion
    DROP CONSTRAINT bookmarks_deletion_user_group_id_6af1097e_fk_usergroup,
    DROP CONSTRAINT bookmarks_deletion_pkey,
    ADD CONSTRAINT bookmarks_deletion_pkey PRIMARY KEY (id, user_group_id);

-- Each node has all rows of a reference table.
SELECT create_reference_table('usergroups_team');
SELECT create_reference_table('usergroups_apitoken');
SELECT create_reference_table('usergroups_usergroup');
SELECT create_reference_table('usergroups_usergroupdeletion');
SELECT create_reference_table('usergroups_event');
SELECT create_reference_table('bookmarks_accesstoken');
SELECT create_distributed_table('bookmarks_collection', 'user_group_id', colocate_with => 'none');
SELECT create_distributed_table('bookmarks_bookmark', 'user_group_id', colocate_with => 'bookmarks_collection');
SELECT create_distributed_table('bookmarks_deletion', 'user_group_id', colocate_with => 'bookmarks_collection');

ALTER TABLE bookmarks_collection
    ADD CONSTRAINT bookmarks_collection_user_group_id_67ae03cb_fk_usergroup
        FOREIGN KEY (user_group_id) REFERENCES usergroups_usergroup (id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE bookmarks_bookmark
    ADD CONSTRAINT bookmarks_bookmark_user_group_id_d6125d4c_fk_usergroup
        FOREIGN KEY (user_group_id) REFERENCES usergroups_usergroup (id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE bookmarks_bookmark
    ADD CONSTRAINT bookmarks_collection_of_group
        FOREIGN KEY (user_group_id, collection_id) REFERENCES bookmarks_collection (user_group_id, id)
        DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE bookmarks_deletion
    ADD CONSTRAINT bookmarks_deletion_user_group_id_6af1097e_fk_usergroup
        FOREIGN KEY (user_group_id) REFERENCES usergroups_usergroup (id) DEFERRABLE INITIALLY DEFERRED;

-- Remove the local rows, which were copied to the shards.
SELECT truncate_local_data_after_distributing_table('bookmarks_bookmark');
SELECT truncate_local_data_after_distributing_table('bookmarks_collection');
SELECT truncate_local_data_after_distributing_table('bookmarks_deletion');
